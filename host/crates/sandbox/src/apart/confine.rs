//! What the child does to itself before it takes in a byte: it gives up what it may have
//! inherited, and binds its life to its parent's.

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::Signal;
use nix::unistd::{Pid, close, getppid};
use rustix::process::nice;
use std::ffi::CStr;
use std::fs;
use std::os::fd::RawFd;
use std::time::Duration;

/// Descriptors that the child may have open. A component has up to 256 core modules, each with a
/// descriptor for its memory's first content. Address space is not limited, because guests'
/// memories are reserved long before they are used.
const MAX_DESCRIPTORS: u64 = 512;

/// How much nicer than its parent the child is: it gets half of what each of the worker's threads
/// gets where both want more than there is. Its compiler alone would take whole processors; but much
/// less, and a busy machine would have its deadline pass before the guest has run.
const NICER: i32 = 3;

/// The name of the process, as people look for it. It is executed as `/proc/self/exe`.
const NAME: &CStr = c"cofferdam";

/// The descriptors that the child was given.
const STDIO: std::ops::RangeInclusive<RawFd> = 0..=2;

/// Why the child does not go on.
#[derive(Debug)]
pub(crate) enum Unfit {
    /// The process that started it is gone.
    Orphan {
        /// Which one it was to be.
        parent: u32,
    },
    /// The kernel refuses.
    Kernel(Errno),
}

impl From<Errno> for Unfit {
    fn from(error: Errno) -> Self {
        Self::Kernel(error)
    }
}

/// Confines this process, which must not have opened anything yet.
pub(crate) fn confine(parent: u32) -> Result<(), Unfit> {
    // A parent that is killed cannot tell its child to end, and a guest that took the child over
    // would not listen.
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    // It may have died before that.
    if i32::try_from(parent).map(Pid::from_raw) != Ok(getppid()) {
        return Err(Unfit::Orphan { parent });
    }
    close_inherited();
    prctl::set_name(NAME)?;
    // Before there is another thread: each starts with the priority of the one that started it.
    nice(NICER).map_err(|errno| Errno::from_raw(errno.raw_os_error()))?;
    // Nothing that is executed gains rights by it.
    prctl::set_no_new_privs()?;
    // A core file would hold the memory of a tenant's job.
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let descriptors = MAX_DESCRIPTORS.min(hard);
    setrlimit(Resource::RLIMIT_NOFILE, descriptors, descriptors)?;
    Ok(())
}

/// Bounds the time of processors and the address space of this process, so that the kernel ends it
/// where it does not keep to them. At the first second past the time there is `SIGXCPU`, which
/// tells whoever waits for it why it has ended.
pub(crate) fn bound(cpu: Duration, memory: u64) -> Result<(), Unfit> {
    let seconds = cpu.as_secs().max(1);
    setrlimit(Resource::RLIMIT_CPU, seconds, seconds.saturating_add(1))?;
    setrlimit(Resource::RLIMIT_AS, memory, memory)?;
    Ok(())
}

/// Closes what was open when the process started. Ours are all closed by `exec`, but whoever
/// started the parent may have left it some that are not.
fn close_inherited() {
    let Ok(open) = fs::read_dir("/proc/self/fd") else { return };
    let open: Vec<RawFd> = open
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|fd| !STDIO.contains(fd))
        .collect();
    for fd in open {
        // The one that the list was read from is closed already.
        let _ = close(fd);
    }
}
