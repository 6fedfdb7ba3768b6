//! Checks of the machine: kernel, memory, open files, mappings.

use super::{Check, Status};
use crate::{host, text};
use cofferdam_core::limits::Limits;
use cofferdam_runner::WorkerSettings;

/// The kernel that can tell which pages a guest touched.
const PAGEMAP_SCAN: (u32, u32) = (6, 7);
/// Open files that the process needs beside one for each slot: connections, folders, the engine.
const BASE_FILES: u64 = 256;
/// Memory mappings that a slot takes at most: memories, guards, stack and code.
const MAPPINGS_A_SLOT: u64 = 16;

/// All of them.
pub(super) fn checks(worker: &WorkerSettings) -> Vec<Check> {
    let slots = worker.slots as u64;
    let found = [kernel(), memory(slots), open_files(slots), mappings(slots)];
    found.into_iter().flatten().collect()
}

fn kernel() -> Option<Check> {
    let release = host::kernel()?;
    let version = host::kernel_version(&release);
    let check = Check::ok("kernel", format!("Linux {release}"));
    if version.is_none_or(|version| version >= PAGEMAP_SCAN) {
        return Some(check);
    }
    Some(Check { status: Status::Warn, ..check }.advice(
        "from Linux 6.7 on, a fresh sandbox costs about half as much: only touched pages are cleared",
    ))
}

fn memory(slots: u64) -> Option<Check> {
    let available = host::available_memory()?;
    let each = Limits::default().memory_bytes;
    let needed = slots.saturating_mul(each);
    let found = format!(
        "{} available; {slots} slots of {} each would take {}",
        text::bytes(available),
        text::bytes(each),
        text::bytes(needed)
    );
    Some(if needed > available {
        Check::new("memory", Status::Warn, found)
            .advice("jobs rarely use their whole limit; if yours do, use fewer slots")
    } else {
        Check::ok("memory", found)
    })
}

fn open_files(slots: u64) -> Option<Check> {
    let limit = host::open_files()?;
    let needed = BASE_FILES + slots;
    let found = format!("up to {} open files", text::grouped(limit));
    Some(if limit < needed {
        Check::new("open files", Status::Fail, found)
            .advice(format!("raise the limit to {needed} or more: ulimit -n {needed}"))
    } else {
        Check::ok("open files", found)
    })
}

fn mappings(slots: u64) -> Option<Check> {
    let limit = host::max_mappings()?;
    let needed = slots.saturating_mul(MAPPINGS_A_SLOT);
    let found = format!("up to {} memory mappings", text::grouped(limit));
    Some(if limit < needed {
        Check::new("mappings", Status::Warn, found)
            .advice(format!("raise it to {needed} or more: sysctl -w vm.max_map_count={needed}"))
    } else {
        Check::ok("mappings", found)
    })
}
