//! `postmaster.pid`, in which a server says that it has a data folder open.

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PidFile {
    /// The process that wrote it.
    pub(crate) pid: i32,
    /// The folder of its socket, once it listens.
    pub(crate) socket_dir: Option<PathBuf>,
    /// Whether it accepts connections.
    pub(crate) ready: bool,
}

impl PidFile {
    /// Reads the file of a data folder. A file that is being written counts as none.
    pub(crate) fn read(pgdata: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(pgdata.join("postmaster.pid")).ok()?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Option<Self> {
        let lines: Vec<&str> = text.lines().collect();
        // A single-user server writes its number negative.
        let pid =
            lines.first()?.trim().parse::<i32>().ok()?.checked_abs().filter(|pid| *pid > 0)?;
        let socket_dir = lines.get(4).map(|line| line.trim()).filter(|line| !line.is_empty());
        let ready = lines.get(7).is_some_and(|line| line.trim() == "ready");
        Some(Self { pid, socket_dir: socket_dir.map(PathBuf::from), ready })
    }

    /// Whether the process is the server of that data, and not gone, or some other program that
    /// got its number. The last is usual after a container is started again, where numbers are
    /// small and come back at once.
    pub(crate) fn names_live_server(&self, pgdata: &Path) -> bool {
        alive(self.pid) && is_server(self.pid, pgdata)
    }
}

/// Whether a process runs. One that has ended and waits to be collected does not: in a container
/// without an init process that may last for ever.
pub(crate) fn alive(pid: i32) -> bool {
    if let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        return !matches!(state, Some('Z' | 'X'));
    }
    kill(Pid::from_raw(pid), None) != Err(Errno::ESRCH)
}

/// Whether a live process is a server on this data folder. Where that cannot be seen, a process
/// named `postgres` is taken for it: the safe side, because it then is never started twice.
fn is_server(pid: i32, pgdata: &Path) -> bool {
    let proc_dir = PathBuf::from(format!("/proc/{pid}"));
    let name = std::fs::read_to_string(proc_dir.join("comm")).ok().or_else(|| {
        let output = Command::new("ps").args(["-o", "comm=", "-p", &pid.to_string()]).output();
        output.ok().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    });
    let named = name.is_none_or(|name| {
        let name = name.trim();
        let base = name.rsplit('/').next().unwrap_or(name);
        base.starts_with("postgres") || base == "postmaster"
    });
    // The server makes its data folder its working directory.
    let placed = std::fs::read_link(proc_dir.join("cwd")).map_or(true, |cwd| cwd == pgdata);
    named && placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_as_the_server_writes_it() {
        let text = "4711\n/data\n1700000000\n5432\n/tmp/s\n\n  12345 0\nready   \n";
        let file = PidFile::parse(text).unwrap();
        assert_eq!(file.pid, 4711);
        assert_eq!(file.socket_dir.as_deref(), Some(Path::new("/tmp/s")));
        assert!(file.ready);
    }

    #[test]
    fn a_file_that_is_being_written_is_none_or_not_ready() {
        assert_eq!(PidFile::parse(""), None);
        assert_eq!(PidFile::parse("0\n"), None);
        assert!(!PidFile::parse("4711\n/data\n1\n5432\n\n").unwrap().ready);
        assert!(!PidFile::parse("4711\n/data\n1\n5432\n/s\n\n1 2\nstarting\n").unwrap().ready);
    }

    #[test]
    fn our_own_number_is_a_strangers() {
        let own = i32::try_from(std::process::id()).unwrap();
        let file = PidFile { pid: own, socket_dir: None, ready: true };
        assert!(alive(own));
        assert!(!file.names_live_server(Path::new("/nowhere")));
    }

    #[test]
    fn a_process_that_was_not_collected_is_not_alive() {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let ended =
            crate::wait::until(std::time::Duration::from_secs(10), || (!alive(pid)).then_some(()));
        assert!(ended.is_some());
        child.wait().unwrap();
    }
}
