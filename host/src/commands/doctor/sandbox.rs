//! The check of the sandbox: it is started, looked at and stopped again.

use super::{Check, Status};
use crate::{text, wire};
use cofferdam_sandbox::{Allocation, SandboxSettings};

/// Starts a sandbox as a worker would. Needs a runtime to be entered.
pub(super) fn check(settings: SandboxSettings) -> Check {
    const NAME: &str = "sandbox";
    let memory = text::bytes(settings.max_memory_bytes);
    let sandbox = match wire::sandbox(settings) {
        Ok(sandbox) => sandbox,
        Err(error) => return Check::failed(NAME, error),
    };
    let status = sandbox.status();
    let shape = format!("{} slots of {memory} on {} threads", status.slots, status.threads);
    let scan = if status.pagemap_scan { "touched pages only" } else { "whole memories" };
    match status.allocation {
        Allocation::Pool => Check::ok(NAME, format!("{shape}, pooled, clears {scan}")),
        Allocation::OnDemand { reason } => {
            Check::new(NAME, Status::Warn, format!("{shape}, not pooled: {reason}"))
                .advice("a pool makes fresh sandboxes four to five times cheaper")
        }
    }
}
