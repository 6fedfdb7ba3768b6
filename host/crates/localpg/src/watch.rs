//! The watcher of a temporary cluster.

use crate::error::ClusterError;
use crate::process;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Reads the number of the server, and then waits for the end of its input, which comes when the
/// process that writes to it is gone, however it went. `done` says that there is nothing to do.
const SCRIPT: &str = r#"
pid=
while read -r word; do
    if [ "$word" = done ]; then exit 0; fi
    pid=$word
done
if [ -n "$pid" ]; then
    kill -QUIT "$pid"
    tries=0
    while kill -0 "$pid" && [ "$tries" -lt 100 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
fi
rm -rf -- "$@"
"#;

/// A small shell process that outlives this one and clears up after it.
#[derive(Debug)]
pub(crate) struct Watcher(Child);

impl Watcher {
    /// Starts it. The folders are removed unless [`Watcher::dismiss`] is called.
    pub(crate) fn start(folders: &[&Path]) -> Result<Self, ClusterError> {
        let mut command = Command::new("/bin/sh");
        process::plain(&mut command).args(["-c", SCRIPT, "sh"]).args(folders).current_dir("/");
        // Its own group: a Ctrl-C that ends us must not end it.
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command
            .spawn()
            .map(Self)
            .map_err(|source| ClusterError::Spawn { program: "/bin/sh".to_owned(), source })
    }

    /// Tells it which server to stop.
    pub(crate) fn server(&mut self, pid: i32) {
        self.say(&pid.to_string());
    }

    /// Ends it: everything has been cleared up.
    pub(crate) fn dismiss(mut self) {
        self.say("done");
        let _ = self.0.wait();
    }

    fn say(&mut self, word: &str) {
        if let Some(input) = &mut self.0.stdin
            && let Err(error) = writeln!(input, "{word}")
        {
            tracing::warn!(%error, "the watcher of the temporary database is gone");
        }
    }
}
