//! The child as a process: how it is started, ended and spoken of.

use crate::outcome::last_lines;
use crate::text::kept;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long a process may take to end by itself once it has said its last word.
const EXIT_GRACE: Duration = Duration::from_secs(1);

/// How long a killed process is waited for, and what it wrote last. The kernel frees its memory
/// meanwhile.
const REAP: Duration = Duration::from_secs(2);

/// How much of the end of standard error is kept, in bytes. Each may become three where they are
/// no text, and still leave room in a message: its end is what counts.
const TAIL: usize = 1024;

/// The most that is read of it at a time, in bytes.
const CHUNK: usize = 4 * 1024;

/// A child.
pub(crate) struct Process {
    child: Child,
    said: Arc<Mutex<Vec<u8>>>,
    listener: JoinHandle<()>,
}

impl Process {
    /// Starts it as `executable COMMAND --parent PID`: with no other variables than these, in the
    /// root folder, with three pipes. Answers with the pipes to and from it.
    pub(crate) fn start(
        executable: &Path,
        command: &str,
        env: &[(&str, String)],
    ) -> io::Result<(Self, ChildStdin, ChildStdout)> {
        let mut child = Command::new(executable)
            .arg(command)
            .arg("--parent")
            .arg(std::process::id().to_string())
            .env_clear()
            .envs(env.iter().map(|(name, value)| (*name, value)))
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A Ctrl-C on our terminal is for us: we drain, and the child goes on meanwhile.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("it was started without its pipes"));
        };
        let said = Arc::new(Mutex::new(Vec::new()));
        let listener = tokio::spawn(listen(stderr, Arc::clone(&said)));
        Ok((Self { child, said, listener }, stdin, stdout))
    }

    /// Its number, until it is gone.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Resolves when it has ended by itself. May be dropped and called again.
    pub(crate) async fn exited(&mut self) -> Option<ExitStatus> {
        self.child.wait().await.ok()
    }

    /// Ends it now.
    pub(crate) async fn kill(&mut self) {
        self.signal();
        // One that cannot be ended, because it is inside the kernel, is left to the kernel.
        let _ = timeout(REAP, self.child.wait()).await;
    }

    /// Waits until it has ended by itself, but not for long. Answers how it ended.
    pub(crate) async fn end(&mut self) -> Option<ExitStatus> {
        if let Ok(status) = timeout(EXIT_GRACE, self.child.wait()).await {
            return status.ok();
        }
        self.kill().await;
        None
    }

    /// The last lines of what it wrote on standard error. Only useful when it has ended.
    pub(crate) async fn last_words(&mut self) -> Option<String> {
        // Another process may hold the pipe open.
        let _ = timeout(REAP, &mut self.listener).await;
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        last_lines(&kept(&String::from_utf8_lossy(&said), 3 * TAIL))
    }

    /// To its whole group: a guest that took it over may have started others.
    fn signal(&mut self) {
        let pid = self.child.id().and_then(|pid| i32::try_from(pid).ok());
        if let Some(pid) = pid {
            // Not reaped yet, so the number is still its own.
            let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
        }
        let _ = self.child.start_kill();
    }
}

/// Keeps the end of what the child writes, and reads all of it: a full pipe would stop the child.
async fn listen(mut stderr: ChildStderr, said: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(bytes @ 1..) = stderr.read(&mut chunk).await {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend_from_slice(chunk.get(..bytes).unwrap_or_default());
        let over = said.len().saturating_sub(TAIL);
        said.drain(..over);
    }
}

/// How a process ended, in words.
pub(crate) fn describe(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(number), _) => match Signal::try_from(number) {
            Ok(signal) => format!("was ended by signal {number} ({signal})"),
            Err(_) => format!("was ended by signal {number}"),
        },
        (None, Some(code)) => format!("ended with exit code {code}"),
        (None, None) => "ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_as_people_look_them_up() {
        for (raw, words) in [
            (9, "was ended by signal 9 (SIGKILL)"),
            (0x0b | 0x80, "was ended by signal 11 (SIGSEGV)"),
            (134 << 8, "ended with exit code 134"),
            (0, "ended with exit code 0"),
        ] {
            assert_eq!(describe(ExitStatus::from_raw(raw)), words);
        }
    }
}
