//! The host of a test.

use super::{Job, placeholder};
use crate::error::Error;
use crate::host::{Host, Level, Resumption};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// What came of an attempt: its result, and everything it asked of the host, in order.
#[derive(Clone, Debug)]
pub struct Run<T> {
    /// What the handler returned.
    pub result: Result<T, Error>,
    /// The log lines.
    pub logs: Vec<LogLine>,
    /// Percent and note of each report.
    pub progress: Vec<(u8, String)>,
    /// The bytes of each successful checkpoint.
    pub checkpoints: Vec<Vec<u8>>,
    /// By how much the deadline was moved, each time.
    pub extensions: Vec<Duration>,
    /// What the job waits for: a token, where it waits for a callback, and the longest time. The
    /// attempt would have ended there.
    pub suspended: Option<(Option<String>, Duration)>,
}

/// One log line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// How grave it is.
    pub level: Level,
    /// The text.
    pub message: String,
    /// The pairs that came with it.
    pub fields: Vec<(String, String)>,
}

/// The shortest time that the host puts a job aside for.
const MIN_WAIT: Duration = Duration::from_secs(1);

/// The longest.
const MAX_WAIT: Duration = Duration::from_hours(30 * 24);

fn no_secret(name: &str) -> String {
    format!("the test gave no secret `{name}`")
}

/// The token of a test's n-th callback.
fn callback(number: u32) -> String {
    format!("cofcb_{number:064x}")
}

/// Answers as the test wants, and remembers what it was asked.
pub(crate) struct Recorder {
    deadline: Duration,
    deadline_cap: Duration,
    cancelled: bool,
    checkpoint_refusal: Option<String>,
    last_checkpoint: Option<Vec<u8>>,
    resumed: Option<Resumption>,
    secrets: BTreeMap<String, String>,
    callbacks: Cell<u32>,
    seen: RefCell<Run<()>>,
}

impl Recorder {
    pub(super) fn new(job: &Job) -> Self {
        Self {
            deadline: job.info.deadline,
            deadline_cap: job.deadline_cap,
            cancelled: job.cancelled,
            checkpoint_refusal: job.checkpoint_refusal.clone(),
            last_checkpoint: job.last_checkpoint.clone(),
            resumed: job.resumed.clone(),
            secrets: job.secrets.clone(),
            callbacks: Cell::new(0),
            seen: RefCell::new(Run {
                result: Ok(()),
                logs: Vec::new(),
                progress: Vec::new(),
                checkpoints: Vec::new(),
                extensions: Vec::new(),
                suspended: None,
            }),
        }
    }

    pub(super) fn finish<T>(&self, result: Result<T, Error>) -> Run<T> {
        let Run { logs, progress, checkpoints, extensions, suspended, .. } =
            self.seen.borrow().clone();
        Run { result, logs, progress, checkpoints, extensions, suspended }
    }
}

impl Host for Rc<Recorder> {
    fn log(&self, level: Level, message: &str, fields: &[(String, String)]) {
        let line = LogLine { level, message: message.to_owned(), fields: fields.to_vec() };
        self.seen.borrow_mut().logs.push(line);
    }

    fn progress(&self, percent: u8, note: &str) {
        self.seen.borrow_mut().progress.push((percent, note.to_owned()));
    }

    fn checkpoint(&self, bytes: &[u8]) -> Result<(), String> {
        if let Some(reason) = &self.checkpoint_refusal {
            return Err(reason.clone());
        }
        self.seen.borrow_mut().checkpoints.push(bytes.to_vec());
        Ok(())
    }

    fn last_checkpoint(&self) -> Option<Vec<u8>> {
        self.seen.borrow().checkpoints.last().or(self.last_checkpoint.as_ref()).cloned()
    }

    fn extend_deadline(&self, by: Duration) -> Result<Duration, String> {
        let granted = by.min(self.deadline_cap.saturating_sub(self.remaining()));
        self.seen.borrow_mut().extensions.push(granted);
        Ok(self.remaining())
    }

    fn remaining(&self) -> Duration {
        self.deadline + self.seen.borrow().extensions.iter().sum::<Duration>()
    }

    fn cancelled(&self) -> bool {
        self.cancelled
    }

    fn create_callback(&self) -> String {
        self.callbacks.set(self.callbacks.get() + 1);
        callback(self.callbacks.get())
    }

    fn suspend_until(&self, token: Option<&str>, timeout: Duration) -> Result<(), String> {
        let made = callback(self.callbacks.get());
        if token.is_some_and(|token| self.callbacks.get() == 0 || token != made) {
            return Err("this is not the last token that create-callback made".to_owned());
        }
        if timeout < MIN_WAIT || timeout > MAX_WAIT {
            return Err(format!("a job may be put aside for 1 s to 30 days, not for {timeout:?}"));
        }
        self.seen.borrow_mut().suspended = Some((token.map(str::to_owned), timeout));
        Ok(())
    }

    fn resumed(&self) -> Option<Resumption> {
        self.resumed.clone()
    }

    fn secret(&self, name: &str) -> Result<String, String> {
        self.secrets.get(name).cloned().ok_or_else(|| no_secret(name))
    }

    fn secret_placeholder(&self, name: &str) -> Result<String, String> {
        if self.secrets.contains_key(name) { Ok(placeholder(name)) } else { Err(no_secret(name)) }
    }
}
