//! The system calls that a child may make while its guest runs.
//!
//! Three filters, of whose answers the kernel takes the strictest. One allows what the engine, the
//! runtime and the allocator need meanwhile, and refuses the rest: libraries ask for more than they
//! need, and do without. One ends the process at what none of our code asks for: whoever asks is
//! not our code. And one says that there is no `clone3`, whose flags no filter can see, so that
//! threads are started by `clone`, whose flags it can.

use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, BpfProgramRef, Error, SeccompAction, SeccompCmpArgLen as Half,
    SeccompCmpOp as Is, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};
use std::collections::BTreeMap;

/// Memory of guests, of their stacks and of the allocator. What maps memory is below.
const MEMORY: &[i64] = &[libc::SYS_brk, libc::SYS_madvise, libc::SYS_mremap, libc::SYS_munmap];

/// Threads: how they wait for each other, start and end. `clone3` is for another filter.
const THREADS: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_rseq,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
];

/// Talking to the parent, over descriptors that are open already: nothing here opens one.
const TALK: &[i64] = &[
    libc::SYS_close,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
];

/// Signals, which are how a guest's traps arrive, and how a process that panics ends itself.
const SIGNALS: &[i64] = &[
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
];

/// Time and chance.
const CLOCKS: &[i64] = &[
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_getrandom,
    libc::SYS_nanosleep,
];

/// Files, of a child that has a folder. In which one is for the other wall to say.
const FILES: &[i64] = &[
    libc::SYS_fadvise64,
    libc::SYS_fallocate,
    libc::SYS_fcntl,
    libc::SYS_fdatasync,
    libc::SYS_fstat,
    libc::SYS_fsync,
    libc::SYS_ftruncate,
    libc::SYS_getdents64,
    libc::SYS_lseek,
    libc::SYS_mkdirat,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_readlinkat,
    libc::SYS_renameat2,
    libc::SYS_statx,
    libc::SYS_unlinkat,
    libc::SYS_utimensat,
];

/// What nothing of ours asks for: other programs, processes that are not this one, networks, other
/// views of the machine, and the parts of the kernel in which exploits begin.
const DEADLY: &[i64] = &[
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_add_key,
    libc::SYS_bind,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_connect,
    libc::SYS_delete_module,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_finit_module,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_listen,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_request_key,
    libc::SYS_setns,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];

/// The older calls of this architecture that do the same as some of the above.
#[cfg(target_arch = "x86_64")]
mod old {
    use nix::libc;

    pub(super) const TALK: &[i64] = &[libc::SYS_epoll_wait];
    pub(super) const FILES: &[i64] = &[libc::SYS_renameat];
    pub(super) const DEADLY: &[i64] = &[libc::SYS_fork, libc::SYS_vfork];
}

/// The same of later architectures, which have few.
#[cfg(not(target_arch = "x86_64"))]
mod old {
    pub(super) const TALK: &[i64] = &[];
    /// `renameat` of the generic table, which not every C library has a name for.
    pub(super) const FILES: &[i64] = &[38];
    pub(super) const DEADLY: &[i64] = &[];
}

/// Flags of `clone` that no thread of ours has: other views of the machine, and being traced.
const STRANGE_CLONES: i32 = libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWUTS
    | libc::CLONE_PTRACE;

/// `PAGEMAP_SCAN`, `_IOWR('f', 16, struct pm_scan_arg)` with 96 bytes: how the engine asks which
/// pages of a memory it has to clear. The one thing that is asked of a descriptor.
const PAGEMAP_SCAN: u64 = 0xc060_6610;

/// The name of the calling process where a call wants a descriptor of one (`PIDFD_SELF`).
const OWN_PROCESS: i32 = -10_000;

/// Filters by the numbers of calls. Where there are rules, one of them has to match too.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Filters the calls of whatever `apply` applies a filter to. Answers whether the kernel does that.
/// With `files`, the calls that files are opened and changed by are allowed.
pub(super) fn shut_out(
    files: bool,
    apply: fn(BpfProgramRef<'_>) -> Result<(), Error>,
) -> Result<bool, Error> {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(false) };
    for program in programs(files, arch)? {
        match apply(&program) {
            // A kernel that was built without.
            Err(Error::Seccomp(error))
                if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL)) =>
            {
                return Ok(false);
            }
            applied => applied?,
        }
    }
    Ok(true)
}

/// The filters in the order in which they have to be applied: the one that allows little comes
/// last, because nothing can be filtered after it.
fn programs(files: bool, arch: TargetArch) -> Result<[BpfProgram; 3], BackendError> {
    let program = |rules, matched, otherwise| {
        BpfProgram::try_from(SeccompFilter::new(rules, otherwise, matched, arch)?)
    };
    let errno = |number: i32| SeccompAction::Errno(number.cast_unsigned());
    let no_clone3 = Rules::from([(libc::SYS_clone3, Vec::new())]);
    Ok([
        program(deadly()?, SeccompAction::KillProcess, SeccompAction::Allow)?,
        program(no_clone3, errno(libc::ENOSYS), SeccompAction::Allow)?,
        program(allowed(files)?, SeccompAction::Allow, errno(libc::EPERM))?,
    ])
}

fn deadly() -> Result<Rules, BackendError> {
    let mut rules: Rules = [DEADLY, old::DEADLY].concat().into_iter().map(whatever).collect();
    // A process of its own would outlive what is done to this one.
    let no_thread = argument(0, Is::MaskedEq(bits(libc::CLONE_THREAD)), 0)?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![no_thread])?]);
    Ok(rules)
}

fn allowed(files: bool) -> Result<Rules, BackendError> {
    let mut groups = vec![MEMORY, THREADS, TALK, old::TALK, SIGNALS, CLOCKS];
    if files {
        groups.extend([FILES, old::FILES]);
    }
    let mut rules: Rules = groups.concat().into_iter().map(whatever).collect();
    let thread = bits(libc::CLONE_THREAD);
    for (call, conditions) in [
        // What may be executed is there: an intruder cannot bring code of his own.
        (libc::SYS_mmap, vec![argument(2, Is::MaskedEq(bits(libc::PROT_EXEC)), 0)?]),
        (libc::SYS_mprotect, vec![argument(2, Is::MaskedEq(bits(libc::PROT_EXEC)), 0)?]),
        // Many `madvise` at once, of this process.
        (libc::SYS_process_madvise, vec![argument(0, Is::Eq, bits(OWN_PROCESS))?]),
        (libc::SYS_clone, vec![argument(0, Is::MaskedEq(thread | bits(STRANGE_CLONES)), thread)?]),
        (libc::SYS_prctl, vec![argument(0, Is::Eq, bits(libc::PR_SET_NAME))?]),
        // Reading a limit of this process. The third argument is what would set it.
        (
            libc::SYS_prlimit64,
            vec![argument(0, Is::Eq, 0)?, SeccompCondition::new(2, Half::Qword, Is::Eq, 0)?],
        ),
        (libc::SYS_ioctl, vec![argument(1, Is::Eq, PAGEMAP_SCAN)?]),
        // How a process that aborts ends itself.
        (libc::SYS_tgkill, vec![argument(0, Is::Eq, u64::from(std::process::id()))?]),
    ] {
        rules.insert(call, vec![SeccompRule::new(conditions)?]);
    }
    Ok(rules)
}

/// A call, whatever its arguments.
fn whatever(call: i64) -> (i64, Vec<SeccompRule>) {
    (call, Vec::new())
}

/// What an argument must be. Its lower half: the kernel takes no more of flags and numbers.
fn argument(index: u8, is: Is, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(index, Half::Dword, is, value)
}

fn bits(flags: i32) -> u64 {
    u64::from(flags.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_is_not_deadly() {
        let (allowed, deadly) = (allowed(true).unwrap(), deadly().unwrap());
        let both: Vec<_> = allowed.keys().filter(|call| deadly.contains_key(call)).collect();
        // Of `clone` one half is the one, and the other half the other.
        assert_eq!(both, [&libc::SYS_clone]);
    }

    #[test]
    fn every_architecture_that_there_are_filters_for_gets_them() {
        for arch in [TargetArch::x86_64, TargetArch::aarch64] {
            for files in [false, true] {
                assert!(programs(files, arch).unwrap().iter().all(|program| !program.is_empty()));
            }
        }
    }
}
