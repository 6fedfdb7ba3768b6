//! What guests write while they run, on its way to the database.
//!
//! A guest's log call only puts the line into the attempt's buffer. Lines are written in chunks:
//! every half second while the attempt runs, and the rest just before its outcome, so that whoever
//! sees a job ended can read all of its log.

use crate::error::chain;
use cofferdam_core::ids::LeaseKey;
use cofferdam_core::log::LogLine;
use cofferdam_store::{LogChunk, Progress, Store};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// The buffers of all attempts of this worker.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    open: Mutex<HashMap<LeaseKey, Arc<Buffer>>>,
    /// Held while lines are being written, so that an outcome does not overtake the lines before
    /// it: whoever sees a job ended may rely on its log.
    writing: tokio::sync::Mutex<()>,
}

/// The buffer of one attempt.
#[derive(Debug)]
pub(crate) struct Buffer {
    key: LeaseKey,
    attempt: u32,
    content: Mutex<Content>,
}

#[derive(Debug, Default)]
struct Content {
    lines: Vec<LogLine>,
    /// The number of the next chunk.
    chunk: u32,
    progress: Option<(u8, String)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Buffer {
    pub(crate) fn push(&self, line: LogLine) {
        lock(&self.content).lines.push(line);
    }

    pub(crate) fn progress(&self, percent: u8, note: String) {
        lock(&self.content).progress = Some((percent, note));
    }

    /// The lines that have not been written yet.
    pub(crate) fn take_chunk(&self) -> Option<LogChunk> {
        let mut content = lock(&self.content);
        if content.lines.is_empty() {
            return None;
        }
        let lines = std::mem::take(&mut content.lines);
        let seq = content.chunk;
        content.chunk += 1;
        Some(LogChunk { key: self.key, attempt: self.attempt, seq, lines })
    }

    fn take_progress(&self) -> Option<Progress> {
        let (percent, note) = lock(&self.content).progress.take()?;
        Some(Progress { key: self.key, percent, note })
    }
}

impl Buffers {
    /// Opens the buffer of an attempt that starts.
    pub(crate) fn open(&self, key: LeaseKey, attempt: u32) -> Arc<Buffer> {
        let buffer = Arc::new(Buffer { key, attempt, content: Mutex::default() });
        lock(&self.open).insert(key, buffer.clone());
        buffer
    }

    /// Closes the buffer of an attempt that has ended and returns what it still holds.
    fn close(&self, key: LeaseKey) -> Option<LogChunk> {
        let buffer = lock(&self.open).remove(&key)?;
        buffer.take_chunk()
    }

    /// Writes the rest of the log of attempts that have ended, and closes their buffers.
    pub(crate) async fn finish(&self, store: &Store, ended: impl Iterator<Item = LeaseKey>) {
        let _writing = self.writing.lock().await;
        let chunks: Vec<_> = ended.filter_map(|key| self.close(key)).collect();
        append(store, &chunks).await;
    }

    async fn flush(&self, store: &Store) {
        let _writing = self.writing.lock().await;
        let buffers: Vec<_> = lock(&self.open).values().cloned().collect();
        let chunks: Vec<_> = buffers.iter().filter_map(|buffer| buffer.take_chunk()).collect();
        append(store, &chunks).await;
        let progress: Vec<_> = buffers.iter().filter_map(|buffer| buffer.take_progress()).collect();
        if !progress.is_empty()
            && let Err(error) = store.set_progress(&progress).await
        {
            warn!(error = chain(&error), attempts = progress.len(), "lost reports of progress");
        }
    }

    /// Writes what the buffers hold every `interval`, until `stop`.
    pub(crate) async fn run(&self, store: &Store, interval: Duration, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            self.flush(store).await;
        }
    }
}

/// A log is worth less than an outcome: writing it is not tried again.
async fn append(store: &Store, chunks: &[LogChunk]) {
    if !chunks.is_empty()
        && let Err(error) = store.append_logs(chunks).await
    {
        warn!(error = chain(&error), chunks = chunks.len(), "lost captured log lines");
    }
}
