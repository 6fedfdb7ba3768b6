//! A host that remembers what guests asked of it.

use async_trait::async_trait;
use cofferdam_core::log::{LogLevel, LogLine};
use cofferdam_sandbox::AttemptHost;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use tokio::sync::Notify;

/// What a guest did.
#[derive(Default)]
pub(crate) struct Recorder {
    lines: Mutex<Vec<LogLine>>,
    pub(crate) progress: Mutex<Vec<(u8, String)>>,
    pub(crate) checkpoints: Mutex<Vec<Vec<u8>>>,
    /// Makes every checkpoint wait for ever.
    pub(crate) stuck: AtomicBool,
    /// Makes every word of progress a bug of the host.
    pub(crate) panics: AtomicBool,
    /// Makes the next word of progress block its thread until the other half is dropped.
    gate: Mutex<Option<Receiver<()>>>,
    /// Told when a checkpoint begins, and when a word of progress blocks.
    pub(crate) reached: Notify,
    /// How many checkpoints began.
    pub(crate) arrived: AtomicUsize,
    /// How many extensions were asked for.
    pub(crate) extensions: AtomicUsize,
    /// What an extension leaves, whatever was asked for.
    pub(crate) grants: Mutex<Option<Duration>>,
    /// How long an extension takes to be answered.
    pub(crate) slowness: Mutex<Duration>,
}

impl Recorder {
    /// Makes the next word of progress block its thread, as a bug of a host would, until what
    /// this returns is dropped.
    pub(crate) fn block(&self) -> Sender<()> {
        let (open, gate) = channel();
        *self.gate.lock().unwrap() = Some(gate);
        open
    }

    /// The lines of one level.
    pub(crate) fn said(&self, level: LogLevel) -> Vec<String> {
        let lines = self.lines.lock().unwrap();
        lines.iter().filter(|line| line.level == level).map(|line| line.message.clone()).collect()
    }

    /// All lines.
    pub(crate) fn lines(&self) -> Vec<LogLine> {
        self.lines.lock().unwrap().clone()
    }
}

#[async_trait]
impl AttemptHost for Recorder {
    fn log(&self, line: LogLine) {
        self.lines.lock().unwrap().push(line);
    }

    fn progress(&self, percent: u8, note: String) {
        assert!(!self.panics.load(Ordering::SeqCst), "a bug of the host");
        let gate = self.gate.lock().unwrap().take();
        if let Some(gate) = gate {
            self.reached.notify_one();
            // The error is that it is over.
            let _ = gate.recv();
        }
        self.progress.lock().unwrap().push((percent, note));
    }

    async fn checkpoint(&self, bytes: Vec<u8>) -> Result<(), String> {
        self.arrived.fetch_add(1, Ordering::SeqCst);
        self.reached.notify_one();
        if self.stuck.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        self.checkpoints.lock().unwrap().push(bytes);
        Ok(())
    }

    async fn extend_deadline(&self, _by: Duration) -> Result<Duration, String> {
        self.extensions.fetch_add(1, Ordering::SeqCst);
        let granted = *self.grants.lock().unwrap();
        let slowness = *self.slowness.lock().unwrap();
        tokio::time::sleep(slowness).await;
        granted.ok_or_else(|| "no more".to_owned())
    }
}
