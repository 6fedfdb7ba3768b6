//! What a guest says: one budget over its log calls, its standard output and its standard error.
//!
//! Past the budget lines are dropped and counted, so that a chatty guest costs nothing but its
//! own log. Far past it the guest is ended: taking lines costs host time even when none is kept.

use crate::attempt::AttemptHost;
use crate::limiter::LimitHit;
use crate::text::kept;
use cofferdam_core::limits::Limits;
use cofferdam_core::log::{LogLevel, LogLine};
use cofferdam_core::units::format_size;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The longest line kept whole, in bytes. Stops one line from filling a page or a terminal.
const MAX_LINE: usize = 16 * 1024;

/// The most pairs kept of one log call. Stops a line whose bytes are all keys.
const MAX_FIELDS: usize = 64;

/// What a line costs beside its text, in bytes: about what it takes in memory. Stops a log of a
/// million empty lines, which would fit any budget.
const LINE_OVERHEAD: u64 = 64;

/// What a pair costs beside its texts, in bytes. Stops lines whose pairs are all empty.
const FIELD_OVERHEAD: u64 = 48;

/// How much of the end of standard error is kept for the failure message, in bytes.
const TAIL: usize = 4 * 1024;

/// How a Rust panic begins, on standard error or in a log line of the SDK's hook.
const PANIC: &str = "panicked at ";

/// One attempt's log.
pub(crate) struct Journal(Mutex<Book>);

struct Book {
    host: Arc<dyn AttemptHost>,
    started: Instant,
    keep: u64,
    flood_bytes: u64,
    flood_lines: u64,
    /// Bytes kept, overhead included.
    kept: u64,
    /// Bytes of text written, kept or not.
    bytes: u64,
    /// The same with the overhead of every line and pair: what the flood is measured by.
    cost: u64,
    lines: u64,
    dropped_lines: u64,
    dropped_bytes: u64,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// The end of standard error.
    tail: Vec<u8>,
    /// The last log message that tells of a panic.
    panic: Option<String>,
}

impl Journal {
    pub(crate) fn new(host: Arc<dyn AttemptHost>, started: Instant, limits: &Limits) -> Self {
        Self(Mutex::new(Book {
            host,
            started,
            keep: limits.log_bytes,
            flood_bytes: limits.log_flood_bytes,
            flood_lines: limits.log_flood_lines,
            kept: 0,
            bytes: 0,
            cost: 0,
            lines: 0,
            dropped_lines: 0,
            dropped_bytes: 0,
            stdout: Vec::new(),
            stderr: Vec::new(),
            tail: Vec::new(),
            panic: None,
        }))
    }

    /// A line of the guest's log interface.
    pub(crate) fn log(
        &self,
        level: LogLevel,
        message: &str,
        fields: Vec<(String, String)>,
    ) -> Result<(), LimitHit> {
        let mut book = self.book();
        // Counted before any is dropped: taking them in has cost the host something already.
        book.take(text_bytes(message, &fields), fields.len());
        if message.contains(PANIC) {
            book.panic = Some(kept(message, MAX_LINE));
        }
        book.line(level, message, fields);
        book.check_flood()
    }

    /// Bytes of standard output or error.
    pub(crate) fn write(&self, level: LogLevel, bytes: &[u8]) -> Result<(), LimitHit> {
        let mut book = self.book();
        book.take(bytes.len() as u64, 0);
        if level == LogLevel::Stderr {
            book.remember(bytes);
        }
        book.split(level, bytes);
        book.check_flood()
    }

    /// Writes out lines that lack their end, and says what was dropped. Called once.
    pub(crate) fn finish(&self) {
        let mut book = self.book();
        for level in [LogLevel::Stdout, LogLevel::Stderr] {
            book.break_line(level);
        }
        if book.dropped_lines > 0 {
            let message = format!(
                "{} more lines ({} bytes) were dropped: the log may have {}",
                book.dropped_lines,
                book.dropped_bytes,
                format_size(book.keep)
            );
            book.tell(LogLevel::Host, message, Vec::new());
        }
    }

    /// Bytes of text written, kept or not.
    pub(crate) fn bytes(&self) -> u64 {
        self.book().bytes
    }

    /// The end of standard error.
    pub(crate) fn stderr_tail(&self) -> String {
        kept(&String::from_utf8_lossy(&self.book().tail), TAIL)
    }

    /// What the guest said when it panicked, on one line.
    pub(crate) fn panic_message(&self) -> Option<String> {
        let said = self.book().panic.clone();
        panic_in(&self.stderr_tail()).or_else(|| panic_in(&said?))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    /// Counts what the guest has written.
    fn take(&mut self, bytes: u64, fields: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.cost = self.cost.saturating_add(bytes).saturating_add(overhead(fields));
    }

    fn line(&mut self, level: LogLevel, message: &str, mut fields: Vec<(String, String)>) {
        self.lines = self.lines.saturating_add(1);
        self.cost = self.cost.saturating_add(LINE_OVERHEAD);
        let message = kept(message, MAX_LINE);
        fields.truncate(MAX_FIELDS);
        // Truncating leaves room for all that there were: megabytes, for one line of many pairs.
        fields.shrink_to_fit();
        for (key, value) in &mut fields {
            *key = kept(key, MAX_LINE);
            *value = kept(value, MAX_LINE);
        }
        let size = text_bytes(&message, &fields);
        let cost = size.saturating_add(LINE_OVERHEAD).saturating_add(overhead(fields.len()));
        // Once a line did not fit, later ones are dropped too: a log with holes misleads.
        if self.dropped_lines > 0 || self.kept.saturating_add(cost) > self.keep {
            self.dropped_lines = self.dropped_lines.saturating_add(1);
            self.dropped_bytes = self.dropped_bytes.saturating_add(size);
            return;
        }
        self.kept = self.kept.saturating_add(cost);
        self.tell(level, message, fields);
    }

    fn tell(&self, level: LogLevel, message: String, fields: Vec<(String, String)>) {
        let at_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.host.log(LogLine { at_ms, level, message, fields });
    }

    fn partial(&mut self, level: LogLevel) -> &mut Vec<u8> {
        if level == LogLevel::Stdout { &mut self.stdout } else { &mut self.stderr }
    }

    fn split(&mut self, level: LogLevel, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (text, ends) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            for chunk in text.chunks(MAX_LINE) {
                if self.partial(level).len() + chunk.len() > MAX_LINE {
                    self.break_line(level);
                }
                self.partial(level).extend_from_slice(chunk);
            }
            if ends {
                let line = std::mem::take(self.partial(level));
                self.line(level, &String::from_utf8_lossy(&line), Vec::new());
            }
        }
    }

    fn break_line(&mut self, level: LogLevel) {
        let line = std::mem::take(self.partial(level));
        if !line.is_empty() {
            self.line(level, &String::from_utf8_lossy(&line), Vec::new());
        }
    }

    fn remember(&mut self, bytes: &[u8]) {
        let bytes = bytes.get(bytes.len().saturating_sub(TAIL)..).unwrap_or_default();
        self.tail.extend_from_slice(bytes);
        // Cut seldom, so that many small writes do not each move the whole tail.
        if self.tail.len() > 2 * TAIL {
            self.tail.drain(..self.tail.len() - TAIL);
        }
    }

    fn check_flood(&self) -> Result<(), LimitHit> {
        if self.cost > self.flood_bytes || self.lines > self.flood_lines {
            return Err(LimitHit::LogFlood { bytes: self.cost, lines: self.lines });
        }
        Ok(())
    }
}

/// The bytes of a line's texts.
fn text_bytes(message: &str, fields: &[(String, String)]) -> u64 {
    let bytes = |sum: usize, (key, value): &(String, String)| {
        sum.saturating_add(key.len()).saturating_add(value.len())
    };
    fields.iter().fold(message.len(), bytes) as u64
}

/// What so many pairs cost beside their texts.
fn overhead(fields: usize) -> u64 {
    FIELD_OVERHEAD.saturating_mul(fields as u64)
}

/// Finds the last panic in a text: where it happened and what it said, on one line.
fn panic_in(text: &str) -> Option<String> {
    let start = text.rfind(PANIC)?;
    let said = text.get(start..)?;
    let said = said.split("\nnote: run with").next().unwrap_or(said);
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let place = lines.next()?;
    let rest: Vec<&str> = lines.collect();
    Some(if rest.is_empty() { place.to_owned() } else { format!("{place} {}", rest.join(" ")) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::AttemptHost;
    use async_trait::async_trait;
    use std::time::Duration;

    #[derive(Default)]
    struct Kept(Mutex<Vec<LogLine>>);

    #[async_trait]
    impl AttemptHost for Kept {
        fn log(&self, line: LogLine) {
            self.0.lock().unwrap().push(line);
        }
        fn progress(&self, _percent: u8, _note: String) {}
        async fn checkpoint(&self, _bytes: Vec<u8>) -> Result<(), String> {
            Ok(())
        }
        async fn extend_deadline(&self, by: Duration) -> Result<Duration, String> {
            Ok(by)
        }
    }

    fn journal(limits: &Limits) -> (Journal, Arc<Kept>) {
        let kept = Arc::new(Kept::default());
        (Journal::new(Arc::clone(&kept) as _, Instant::now(), limits), kept)
    }

    fn messages(kept: &Kept) -> Vec<String> {
        kept.0.lock().unwrap().iter().map(|line| line.message.clone()).collect()
    }

    #[test]
    fn lines_are_joined_across_writes() {
        let (journal, kept) = journal(&Limits::default());
        journal.write(LogLevel::Stdout, b"one\ntw").unwrap();
        journal.write(LogLevel::Stderr, b"apart\n").unwrap();
        journal.write(LogLevel::Stdout, b"o\nthree").unwrap();
        journal.finish();
        assert_eq!(messages(&kept), ["one", "apart", "two", "three"]);
    }

    #[test]
    fn endless_lines_are_broken() {
        let (journal, kept) = journal(&Limits::default());
        for _ in 0..5 {
            journal.write(LogLevel::Stdout, &[b'x'; 10_000]).unwrap();
        }
        journal.finish();
        assert!(kept.0.lock().unwrap().iter().all(|line| line.message.len() <= MAX_LINE));
        assert_eq!(messages(&kept).concat().len(), 50_000);
    }

    #[test]
    fn what_is_over_the_budget_is_counted() {
        let room = 2 * (LINE_OVERHEAD + 4);
        let (journal, kept) = journal(&Limits { log_bytes: room, ..Limits::default() });
        for message in ["four", "for4", "over", "x"] {
            journal.log(LogLevel::Info, message, Vec::new()).unwrap();
        }
        journal.finish();
        let said = messages(&kept);
        assert_eq!(said.len(), 3, "{said:?}");
        assert_eq!(said[2], "2 more lines (5 bytes) were dropped: the log may have 136B");
        assert_eq!(journal.bytes(), 13);
    }

    #[test]
    fn floods_are_refused() {
        let (journal, _) = journal(&Limits { log_flood_lines: 3, ..Limits::default() });
        for _ in 0..3 {
            journal.log(LogLevel::Info, "", Vec::new()).unwrap();
        }
        let refused = journal.log(LogLevel::Info, "", Vec::new());
        assert!(matches!(refused, Err(LimitHit::LogFlood { lines: 4, .. })));
    }

    #[test]
    fn empty_lines_are_not_free() {
        // Given a guest that writes nothing but line breaks
        let (journal, kept) = journal(&Limits::default());
        for _ in 0..100 {
            journal.write(LogLevel::Stdout, &[b'\n'; 1_000]).unwrap();
        }
        // when it has written a hundred thousand, then only so many are kept,
        let most = Limits::default().log_bytes / LINE_OVERHEAD;
        assert_eq!(messages(&kept).len() as u64, most);
        // and the guest's usage is what it wrote.
        assert_eq!(journal.bytes(), 100_000);
    }

    #[test]
    fn empty_pairs_are_not_free() {
        // Given a guest that gives its lines as many empty pairs as a host call carries
        let pairs = 349_000;
        let (journal, kept) = journal(&Limits::default());
        let call = || {
            let fields = vec![(String::new(), String::new()); pairs];
            journal.log(LogLevel::Info, "", fields)
        };
        // when it logs one, then few of them are kept, and no room for the others,
        call().unwrap();
        let capacity = kept.0.lock().unwrap()[0].fields.capacity();
        assert!(capacity <= 2 * MAX_FIELDS, "{capacity}");
        // and a handful of such lines is a flood.
        let refused = (0..4).find_map(|_| call().err());
        assert!(matches!(refused, Some(LimitHit::LogFlood { .. })), "{refused:?}");
    }

    #[test]
    fn kept_pairs_count_towards_the_budget() {
        let (journal, kept) = journal(&Limits::default());
        for _ in 0..1_000 {
            let fields = vec![(String::new(), String::new()); MAX_FIELDS];
            journal.log(LogLevel::Info, "", fields).unwrap();
        }
        let line = LINE_OVERHEAD + overhead(MAX_FIELDS);
        assert_eq!(messages(&kept).len() as u64, Limits::default().log_bytes / line);
    }

    #[test]
    fn panics_are_found_where_std_puts_them() {
        let (journal, _) = journal(&Limits::default());
        let text = "hello\n\nthread '<unnamed>' (1) panicked at src/lib.rs:70:24:\nboom in job 7\n\
                    note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
        journal.write(LogLevel::Stderr, text.as_bytes()).unwrap();
        let message = journal.panic_message().unwrap();
        assert_eq!(message, "panicked at src/lib.rs:70:24: boom in job 7");
    }

    #[test]
    fn panics_are_found_in_the_log() {
        let (journal, _) = journal(&Limits::default());
        journal.log(LogLevel::Error, "panicked at src/lib.rs:1:1:\nno", Vec::new()).unwrap();
        assert_eq!(journal.panic_message().unwrap(), "panicked at src/lib.rs:1:1: no");
    }

    #[test]
    fn bytes_that_are_no_text_do_no_harm() {
        let (journal, kept) = journal(&Limits::default());
        journal.write(LogLevel::Stderr, b"\xff\0\n").unwrap();
        journal.finish();
        assert_eq!(messages(&kept), ["\u{fffd}\u{fffd}"]);
    }
}
