//! What the child says without being asked: lines of log, progress, pulses. All of it is bounded
//! here again, because nothing says that the child still counts.

use super::protocol::{PROGRESS_PAUSE, PULSE};
use crate::attempt::AttemptHost;
use crate::journal::Journal;
use crate::text::kept;
use cofferdam_core::limits::Limits;
use cofferdam_core::log::{LogLevel, LogLine};
use std::sync::Arc;
use std::time::Instant;

/// The longest note kept of a report of progress, in bytes.
const MAX_NOTE: usize = 1024;

/// The longest remark of the child's own sandbox, in bytes.
const MAX_REMARK: usize = 1024;

/// How many reports and pulses may come ahead of time: they arrive in a burst when this side or
/// the machine was busy.
const BURST: u64 = 100;

/// One child's chatter.
pub(super) struct Chatter {
    host: Arc<dyn AttemptHost>,
    journal: Journal,
    started: Instant,
    signs: u64,
    remarked: bool,
}

impl Chatter {
    pub(super) fn new(host: Arc<dyn AttemptHost>, limits: &Limits, started: Instant) -> Self {
        let journal = Journal::new(Arc::clone(&host), started, limits);
        Self { host, journal, started, signs: 0, remarked: false }
    }

    /// A line of log. What is over the budget is dropped; far over it the child is not one of
    /// ours, which would have stopped by itself.
    pub(super) fn log(&mut self, line: LogLine) -> Result<(), &'static str> {
        if line.level != LogLevel::Host {
            let taken = self.journal.log(line.level, &line.message, line.fields);
            return taken.map_err(|_| "it floods the log");
        }
        // The sandbox remarks once how much it dropped.
        if std::mem::replace(&mut self.remarked, true) {
            return Err("it speaks in the host's name");
        }
        let at_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let message = kept(&line.message, MAX_REMARK);
        self.host.log(LogLine { at_ms, level: LogLevel::Host, message, fields: Vec::new() });
        Ok(())
    }

    /// How far the guest is.
    pub(super) fn progress(
        &mut self,
        percent: u8,
        note: &str,
        now: Instant,
    ) -> Result<(), &'static str> {
        self.sign(now)?;
        self.host.progress(percent.min(100), kept(note, MAX_NOTE));
        Ok(())
    }

    /// A sign of life. They come at a pace that both sides know, so more of them are an attempt
    /// to keep this side busy.
    pub(super) fn sign(&mut self, now: Instant) -> Result<(), &'static str> {
        self.signs = self.signs.saturating_add(1);
        let elapsed = now.saturating_duration_since(self.started).as_millis();
        let due = |every: std::time::Duration| elapsed / every.as_millis().max(1);
        let due = u64::try_from(due(PROGRESS_PAUSE) + due(PULSE)).unwrap_or(u64::MAX);
        // Twice what is due, because the two clocks need not agree.
        if self.signs > due.saturating_mul(2).saturating_add(BURST) {
            return Err("it reports progress or pulses faster than it may");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;
    use std::sync::Mutex;
    use std::time::Duration;

    #[derive(Default)]
    struct Heard {
        lines: Mutex<Vec<LogLine>>,
        notes: Mutex<Vec<(u8, String)>>,
    }

    #[async_trait]
    impl AttemptHost for Heard {
        fn log(&self, line: LogLine) {
            self.lines.lock().unwrap().push(line);
        }
        fn progress(&self, percent: u8, note: String) {
            self.notes.lock().unwrap().push((percent, note));
        }
        async fn checkpoint(&self, _bytes: Vec<u8>) -> Result<(), String> {
            Ok(())
        }
        async fn extend_deadline(&self, by: Duration) -> Result<Duration, String> {
            Ok(by)
        }
    }

    fn chatter(limits: &Limits) -> (Chatter, Arc<Heard>) {
        let heard = Arc::new(Heard::default());
        (Chatter::new(Arc::clone(&heard) as _, limits, Instant::now()), heard)
    }

    fn line(level: LogLevel, message: &str) -> LogLine {
        LogLine { at_ms: u64::MAX, level, message: message.to_owned(), fields: Vec::new() }
    }

    #[test]
    fn the_log_has_its_budget_on_this_side_too() {
        // Given a child that does not count
        let limits = Limits { log_bytes: 1_000, log_flood_lines: 1_000, ..Limits::default() };
        let (mut chatter, heard) = chatter(&limits);
        // when it sends line after line
        let flooded = (0..2_000).find_map(|_| chatter.log(line(LogLevel::Info, "line")).err());
        // then little is kept, the time is this side's, and in the end it is told from a child
        // of ours.
        let lines = heard.lines.lock().unwrap();
        assert!((1..=1_000 / 64).contains(&lines.len()), "{}", lines.len());
        assert!(lines.iter().all(|line| line.at_ms < 60_000));
        assert_eq!(flooded, Some("it floods the log"));
    }

    #[test]
    fn the_host_s_own_remark_comes_once() {
        let (mut chatter, heard) = chatter(&Limits::default());
        chatter.log(line(LogLevel::Host, &"x".repeat(5_000))).unwrap();
        assert!(chatter.log(line(LogLevel::Host, "again")).is_err());
        let lines = heard.lines.lock().unwrap();
        assert_eq!(lines.len(), 1);
        assert!(lines[0].message.len() <= MAX_REMARK);
    }

    #[test]
    fn reports_are_bounded_in_size_and_in_pace() {
        let (mut chatter, heard) = chatter(&Limits::default());
        let now = chatter.started;
        // Given a child that reports as fast as it can
        let refused = (0..10_000)
            .position(|_| chatter.progress(200, &"n".repeat(5_000), now).is_err())
            .unwrap();
        // then it is found out soon,
        assert_eq!(refused as u64, BURST);
        let notes = heard.notes.lock().unwrap();
        assert!(notes.iter().all(|(percent, note)| *percent == 100 && note.len() <= MAX_NOTE));
        // and one that keeps the pace is not, however long it goes on.
        let (mut chatter, _) = self::chatter(&Limits::default());
        for report in 0..100_000 {
            chatter.progress(1, "", chatter.started + PROGRESS_PAUSE * report).unwrap();
        }
    }
}
