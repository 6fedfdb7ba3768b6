//! Clears up after a run, whatever ends it.

use anyhow::{Context, Result};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Is told what there is to end and to remove. Does both when its input ends, which it does when
/// the process that writes to it is gone, however it went.
const SCRIPT: &str = r#"
groups= server=
while read -r word rest; do
    case $word in
        group) groups="$groups $rest" ;;
        gone)
            left=
            for group in $groups; do
                [ "$group" = "$rest" ] || left="$left $group"
            done
            groups=$left ;;
        server) server=$rest ;;
        folder) set -- "$@" "$rest" ;;
        done) exit 0 ;;
    esac
done
for group in $groups; do kill -KILL "-$group"; done
if [ -n "$server" ]; then
    kill -QUIT "$server"
    tries=0
    while kill -0 "$server" && [ "$tries" -lt 100 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
fi
[ "$#" = 0 ] || rm -rf -- "$@"
"#;

/// A small shell process that outlives this one.
#[derive(Debug)]
pub struct Reaper(Mutex<Child>);

impl Reaper {
    /// Starts it.
    pub fn start() -> Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "sh"]).current_dir("/");
        // Its own group: a Ctrl-C that ends us must not end it.
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self(Mutex::new(command.spawn().context("cannot start /bin/sh")?)))
    }

    /// A group of processes was started.
    pub fn group(&self, pid: i32) {
        self.say("group", &pid.to_string());
    }

    /// A group of processes has ended.
    pub fn gone(&self, pid: i32) {
        self.say("gone", &pid.to_string());
    }

    /// The database server is this process now.
    pub fn server(&self, pid: i32) {
        self.say("server", &pid.to_string());
    }

    /// A folder was made.
    pub fn folder(&self, path: &Path) {
        self.say("folder", &path.to_string_lossy());
    }

    /// Ends it: everything has been cleared up.
    pub fn dismiss(self) {
        self.say("done", "");
        let mut child = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let _ = child.wait();
    }

    /// A reaper that is gone cannot be told anything; the run itself still clears up.
    fn say(&self, word: &str, rest: &str) {
        let mut child = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(input) = &mut child.stdin {
            let _ = writeln!(input, "{word} {rest}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn what_is_left_is_ended_and_removed_when_the_run_is_gone() {
        // Given a process and a folder of a run, and a process that has ended already
        let folder = std::env::temp_dir().join(format!("cofferdam-reaper-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let mut process = Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
        let pid = i32::try_from(process.id()).unwrap();
        let reaper = Reaper::start().unwrap();
        reaper.folder(&folder);
        reaper.group(pid);
        reaper.group(1);
        reaper.gone(1);

        // When the run ends without a word
        let mut shell = reaper.0.into_inner().unwrap();
        drop(shell.stdin.take());
        shell.wait().unwrap();

        // Then nothing of it is left
        assert_eq!(process.wait().unwrap().signal(), Some(9));
        assert!(!folder.exists());
    }
}
