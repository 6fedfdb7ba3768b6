//! Doors for the fuzzers in `fuzz/`, which is all that `--cfg fuzzing` changes: what guests and
//! their processes say, read as it is read of real ones.

use crate::attempt::AttemptHost;
use crate::bindings::KindDescription;
use crate::describe;
use crate::journal::Journal;
use crate::reject::Reject;
use async_trait::async_trait;
use cofferdam_core::limits::Limits;
use cofferdam_core::log::{LogLevel, LogLine};
use cofferdam_core::module::KindInfo;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub use crate::apart::fuzzing::{heard_by_child, heard_by_parent};

/// Keeps an attempt's log.
#[derive(Default)]
pub(crate) struct Recorder(Mutex<Vec<LogLine>>);

impl Recorder {
    pub(crate) fn take(&self) -> Vec<LogLine> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl AttemptHost for Recorder {
    fn log(&self, line: LogLine) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    fn progress(&self, _percent: u8, _note: String) {}

    async fn checkpoint(&self, _bytes: Vec<u8>) -> Result<(), String> {
        Ok(())
    }

    async fn extend_deadline(&self, by: Duration) -> Result<Duration, String> {
        Ok(by)
    }
}

/// What is kept of a guest's log: of bytes on its standard output and error, and of calls of its
/// log interface at the other levels, with the pairs that are in their text (`key=value;`). Nothing
/// is taken once the guest would have been ended for the flood.
pub fn logged(said: &[(LogLevel, &[u8])], limits: &Limits) -> Vec<LogLine> {
    let host = Arc::new(Recorder::default());
    let journal = Journal::new(Arc::clone(&host) as _, Instant::now(), limits);
    for &(level, bytes) in said {
        let taken = if matches!(level, LogLevel::Stdout | LogLevel::Stderr) {
            journal.write(level, bytes)
        } else {
            let text = String::from_utf8_lossy(bytes);
            let pairs = text.split(';').filter_map(|pair| pair.split_once('='));
            let pairs = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
            journal.log(level, &text, pairs)
        };
        if taken.is_err() {
            break;
        }
    }
    journal.finish();
    // Both are told when the guest fails.
    let _ = (journal.stderr_tail(), journal.panic_message());
    host.take()
}

/// What a component's one kind comes to.
pub fn described(
    name: &str,
    description: &str,
    input_schema: Option<&str>,
    numbers: [Option<u64>; 3],
) -> Result<Vec<KindInfo>, Reject> {
    let [deadline_ms, memory_bytes, fuel] = numbers;
    describe::kinds(&[KindDescription {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: input_schema.map(str::to_owned),
        deadline_ms,
        memory_bytes,
        fuel,
        max_attempts: None,
    }])
}
