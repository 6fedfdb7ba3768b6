//! The check of the walls around attempts in processes of their own: which ones this kernel has.

use super::{Check, Status};
use cofferdam_sandbox::apart::{Walls, walls};

/// The version of Landlock from which on it shuts out networks.
const NETWORKS: u32 = 4;

/// Tries them.
pub(super) fn checks() -> [Check; 2] {
    let Walls { landlock, seccomp } = walls();
    [files(landlock), calls(seccomp)]
}

fn files(landlock: Option<u32>) -> Check {
    const NAME: &str = "landlock";
    match landlock {
        Some(version) if version >= NETWORKS => Check::ok(
            NAME,
            format!("version {version}: attempts apart and the compiler reach no file, no network"),
        ),
        Some(version) => Check::new(
            NAME,
            Status::Warn,
            format!("version {version}: attempts apart and the compiler reach no file"),
        )
        .advice("from Linux 6.7 on, it shuts out networks, too"),
        None => Check::new(
            NAME,
            Status::Warn,
            "the kernel has none: a guest that breaks out of the engine reaches this user's files",
        )
        .advice("Linux has it from 5.13 on, where the kernel's parameter `lsm=` names landlock"),
    }
}

fn calls(seccomp: bool) -> Check {
    const NAME: &str = "seccomp";
    if seccomp {
        return Check::ok(NAME, "attempts apart and the compiler make no system call but theirs");
    }
    Check::new(
        NAME,
        Status::Warn,
        "the kernel filters no system calls: a guest that breaks out of the engine makes any",
    )
    .advice("use a kernel with CONFIG_SECCOMP_FILTER, in a container that permits seccomp(2)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_that_is_missing_is_said_with_what_to_do() {
        for check in [files(None), files(Some(NETWORKS - 1)), calls(false)] {
            assert_eq!(check.status, Status::Warn, "{check:?}");
            assert!(check.advice.is_some(), "{check:?}");
        }
        for check in [files(Some(NETWORKS)), calls(true)] {
            assert_eq!(check.status, Status::Ok, "{check:?}");
        }
    }
}
