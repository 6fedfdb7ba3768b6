//! One process of the platform, from its start to its end.

use crate::clock::{self, Nanos};
use crate::journal::{Journal, Source};
use crate::proc;
use crate::reaper::Reaper;
use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How long children of a process that has ended may take to notice.
const ORPHAN_BOUND: Duration = Duration::from_secs(10);

/// Between two looks at them.
const LOOK: Duration = Duration::from_millis(20);

/// How a process is known in the report.
#[derive(Clone, Debug)]
pub struct Tag {
    /// Such as `worker 2`.
    pub name: String,
    /// How far its wall clock is ahead of the machine's.
    pub skew: Nanos,
}

/// A process that was started. Its end is noticed and told by itself.
#[derive(Debug)]
pub struct Process {
    /// How it is known.
    pub tag: Tag,
    /// Its number, and that of its group.
    pub pid: i32,
    /// When it was started.
    pub started: Nanos,
    ready: watch::Sender<bool>,
    /// When it was killed by us, for good.
    killed: OnceLock<Nanos>,
    gone: AtomicBool,
    end: watch::Sender<Option<ExitStatus>>,
}

impl Process {
    /// Starts one in a group of its own. What it logs goes to the journal, and its end to the
    /// reaper.
    pub fn start(
        command: &mut Command,
        tag: Tag,
        journal: &Arc<Journal>,
        reaper: &Arc<Reaper>,
    ) -> Result<Arc<Self>> {
        command.process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = clock::now();
        let mut child = command.spawn().context("cannot start the executable")?;
        let pid = i32::try_from(child.id()).context("a process has too large a number")?;
        reaper.group(pid);
        let process = Arc::new(Self {
            tag,
            pid,
            started,
            ready: watch::Sender::new(false),
            killed: OnceLock::new(),
            gone: AtomicBool::new(false),
            end: watch::Sender::new(None),
        });
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (told, log) = (process.clone(), journal.clone());
        std::thread::spawn(move || told.listen(stdout));
        let source = Source { pid, tag: process.tag.clone() };
        let listener = std::thread::spawn(move || log.read(&source, stderr));
        let (ended, journal, reaper) = (process.clone(), journal.clone(), reaper.clone());
        std::thread::spawn(move || {
            // From here on its number may be another's, so it is noted before that.
            let _ =
                waitid(Id::Pid(Pid::from_raw(pid)), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT);
            ended.gone.store(true, Ordering::SeqCst);
            let status = child.wait().unwrap_or_else(|_| ExitStatus::from_raw(-1));
            bury(pid, &ended.tag, &journal);
            // Every effect is in the journal before anyone hears of the end.
            let _ = listener.join();
            reaper.gone(pid);
            ended.end.send_replace(Some(status));
        });
        Ok(process)
    }

    /// Waits for the line with which a role says that it is ready.
    fn listen(&self, stdout: Option<impl Read>) {
        for line in stdout.into_iter().flat_map(|stdout| BufReader::new(stdout).lines()) {
            let line = line.unwrap_or_default();
            if serde_json::from_str::<Value>(&line).is_ok_and(|line| line.get("pid").is_some()) {
                self.ready.send_replace(true);
            }
        }
    }

    /// Whether it has said that it is ready.
    pub fn is_ready(&self) -> bool {
        *self.ready.borrow()
    }

    /// Waits until it is ready, or has ended.
    pub async fn ready(&self) {
        let (mut ready, mut end) = (self.ready.subscribe(), self.end.subscribe());
        // The senders live as long as `self`, so waiting cannot fail.
        tokio::select! {
            _ = ready.wait_for(|ready| *ready) => {}
            _ = end.wait_for(Option::is_some) => {}
        }
    }

    /// Waits until it has ended.
    pub async fn ended(&self) -> ExitStatus {
        let mut end = self.end.subscribe();
        match end.wait_for(Option::is_some).await {
            Ok(status) => status.unwrap_or_default(),
            // The sender lives as long as `self`.
            Err(_) => ExitStatus::default(),
        }
    }

    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        !self.gone.load(Ordering::SeqCst)
    }

    /// How it ended, once it has.
    pub fn status(&self) -> Option<ExitStatus> {
        *self.end.borrow()
    }

    /// When it was killed by us.
    pub fn killed(&self) -> Option<Nanos> {
        self.killed.get().copied()
    }

    /// Ends it, and its children only by that. Says whether it ran.
    pub fn kill(&self) -> bool {
        if !self.is_running() {
            return false;
        }
        let _ = self.killed.set(clock::now());
        self.signal(Signal::SIGKILL)
    }

    /// Sends it a signal, unless it has ended. Says whether it ran.
    pub fn signal(&self, signal: Signal) -> bool {
        self.is_running() && kill(Pid::from_raw(self.pid), signal).is_ok()
    }

    /// Sends it and the processes that it has started a signal. Says whether it ran.
    pub fn signal_all(&self, signal: Signal) -> bool {
        let children = proc::children(self.pid);
        let ran = self.signal(signal);
        for child in children {
            let _ = kill(Pid::from_raw(child.pid), signal);
        }
        ran
    }
}

/// Waits until no child of a process runs any more that has ended itself.
fn bury(parent: i32, tag: &Tag, journal: &Journal) {
    let end = Instant::now() + ORPHAN_BOUND;
    while let Some(orphan) = proc::orphans(parent).first() {
        if Instant::now() < end {
            std::thread::sleep(LOOK);
            continue;
        }
        journal.defect(format!("{} ended, and its child {orphan} goes on without it", tag.name));
        let _ = kill(Pid::from_raw(orphan.pid), Signal::SIGKILL);
        return;
    }
}
