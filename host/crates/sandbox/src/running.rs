//! An attempt under way, from the outside.

use crate::kill::{KillReason, KillSwitch};
use crate::outcome::{self, Failed};
use crate::symbols::Symbols;
use crate::task::{Report, Value};
use cofferdam_core::outcome::{End, Failure, Outcome, Usage};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// The longest that an outcome waits for source lines: it comes after a deadline or a kill, when
/// the guest's time is over.
const MAX_READING: Duration = Duration::from_secs(1);

/// An attempt under way. Dropping it ends the attempt: nobody would hear of its outcome.
#[must_use = "dropping a running attempt kills it"]
pub struct Running {
    /// Ends the attempt.
    pub kill: KillSwitch,
    report: oneshot::Receiver<Report>,
    symbols: Arc<Symbols>,
    io: Handle,
    abandoned: Abandoned,
}

impl Running {
    pub(crate) fn new(
        kill: KillSwitch,
        report: oneshot::Receiver<Report>,
        symbols: Arc<Symbols>,
        io: Handle,
    ) -> Self {
        Self { abandoned: Abandoned(Some(kill.clone())), kill, report, symbols, io }
    }

    /// The attempt's end. Resolves exactly once, however the attempt ends: when this resolves,
    /// the guest's memory is freed and its slot is free.
    pub async fn outcome(self) -> Outcome {
        let (result, usage) = self.result().await;
        let end = match result {
            Ok(Value::Output(bytes)) => End::Completed(bytes),
            // Only `describe` asks for kinds, and it does not come through here.
            Ok(Value::Kinds(_)) => End::Completed(Vec::new()),
            Err(failure) => End::Failed(failure),
        };
        Outcome { end, usage }
    }

    pub(crate) async fn result(self) -> (Result<Value, Failure>, Usage) {
        let Self { report, mut abandoned, symbols, io, .. } = self;
        let gone = || Report {
            result: Err(outcome::ended(KillReason::Shutdown)),
            usage: Usage::default(),
        };
        let Report { result, usage } = report.await.unwrap_or_else(|_| gone());
        // There is nothing left to kill.
        abandoned.0 = None;
        match result {
            Ok(value) => (Ok(value), usage),
            Err(failed) => (Err(written_out(failed, symbols, &io).await), usage),
        }
    }
}

/// Puts a failure's backtrace into words. Lines come from what the uploader wrote, which may take
/// for ever to read: past [`MAX_READING`] there are only function names.
async fn written_out(failed: Failed, symbols: Arc<Symbols>, io: &Handle) -> Failure {
    let Failed { mut failure, trace } = failed;
    if !trace.is_empty() {
        let theirs = trace.clone();
        let until = Instant::now() + MAX_READING;
        let words = move || theirs.render(symbols.lookup(until));
        let words = in_time(io, MAX_READING, words).await;
        failure.backtrace = words.unwrap_or_else(|| trace.names());
    }
    failure
}

/// What `work` answers, on a thread that may be held up by it: nothing when it takes longer, when
/// it panics, or when the runtime has no time for it any more.
async fn in_time<T: Send + 'static>(
    io: &Handle,
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let work = io.spawn_blocking(work);
    // The runtime of whoever waits may have no timers; this one has.
    let timed = io.spawn(async move { tokio::time::timeout(limit, work).await });
    timed.await.ok()?.ok()?.ok()
}

/// Kills an attempt that nobody waits for.
struct Abandoned(Option<KillSwitch>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        if let Some(kill) = self.0.take() {
            kill.kill(KillReason::Shutdown);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[tokio::test]
    async fn an_outcome_does_not_wait_for_lines_that_never_come() {
        // Given debug information that takes as long to read as the test does
        let (finish, held_up) = mpsc::channel::<()>();
        let io = Handle::current();
        // when lines are looked up in it, then the answer is that there are none.
        let limit = Duration::from_millis(10);
        assert_eq!(in_time(&io, limit, move || held_up.recv().is_ok()).await, None);
        drop(finish);
    }

    #[tokio::test]
    async fn a_reader_that_panics_is_one_that_finds_nothing() {
        let io = Handle::current();
        assert_eq!(in_time(&io, MAX_READING, || panic!("no such form")).await, None::<()>);
        assert_eq!(in_time(&io, MAX_READING, || 7).await, Some(7));
    }
}
