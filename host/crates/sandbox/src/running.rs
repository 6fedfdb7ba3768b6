//! An attempt under way, from the outside.

use crate::kill::{KillReason, KillSwitch};
use crate::outcome::{self, Failed};
use crate::symbols::Symbols;
use crate::task::{Report, Value};
use cofferdam_core::outcome::{End, Failure, Outcome, Usage};
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

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
        let gone = || Report { result: Err(outcome::sandbox_gone()), usage: Usage::default() };
        let Report { result, usage } = report.await.unwrap_or_else(|_| gone());
        // There is nothing left to kill.
        abandoned.0 = None;
        match result {
            Ok(value) => (Ok(value), usage),
            Err(failed) => (Err(written_out(failed, symbols, &io).await), usage),
        }
    }
}

/// Puts a failure's backtrace into words, on a thread that may be held up by it.
async fn written_out(failed: Failed, symbols: Arc<Symbols>, io: &Handle) -> Failure {
    let Failed { mut failure, trace } = failed;
    if !trace.is_empty() {
        let words = io.spawn_blocking(move || trace.render(&symbols)).await;
        // Debug information that makes its reader panic is not worth a failure of its own, and
        // a runtime that is shutting down has no time for any.
        failure.backtrace = words.unwrap_or_default();
    }
    failure
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
