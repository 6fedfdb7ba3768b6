//! What the system says about processes.

use std::fmt;

/// A process that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number.
    pub pid: i32,
    /// Its command line, with spaces between.
    pub command: String,
    parent: i32,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.pid, self.command)
    }
}

/// Whether a process runs.
pub fn runs(pid: i32) -> bool {
    running().any(|entry| entry.pid == pid)
}

/// The children of a process that run.
pub fn children(parent: i32) -> Vec<Entry> {
    running().filter(|entry| entry.parent == parent).collect()
}

/// The processes that run one attempt for a worker and that know it by its number, which they still
/// do when it is gone.
pub fn orphans(worker: i32) -> Vec<Entry> {
    let end = format!(" attempt --parent {worker}");
    running().filter(|entry| entry.command.ends_with(&end)).collect()
}

/// Every process that runs. One that ended and was not collected yet does not.
fn running() -> impl Iterator<Item = Entry> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let (state, parent) = fields(&stat)?;
        let command = std::fs::read(entry.path().join("cmdline")).ok()?;
        let command = String::from_utf8_lossy(&command).replace('\0', " ").trim().to_owned();
        (state != "Z" && state != "X").then_some(Entry { pid, command, parent })
    })
}

/// State and parent. The name before them is in parentheses and may have some of its own.
fn fields(stat: &str) -> Option<(&str, i32)> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_child_is_found_until_it_has_ended() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let me = i32::try_from(std::process::id()).unwrap();
        let found = |pid| children(me).into_iter().find(|entry| entry.pid == pid);
        assert_eq!(found(pid).unwrap().command, "sleep 600");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found(pid), None);
    }

    #[test]
    fn a_name_may_have_parentheses() {
        assert_eq!(fields("7 (a) b) S 1 42 42 0"), Some(("S", 1)));
    }
}
