//! An attempt under way, from the outside.

use crate::kill::{KillReason, KillSwitch};
use crate::outcome;
use crate::task::{Report, Value};
use cofferdam_core::outcome::{End, Outcome, Usage};
use tokio::sync::oneshot;

/// An attempt under way. Dropping it ends the attempt: nobody would hear of its outcome.
#[must_use = "dropping a running attempt kills it"]
pub struct Running {
    /// Ends the attempt.
    pub kill: KillSwitch,
    report: oneshot::Receiver<Report>,
    abandoned: Abandoned,
}

impl Running {
    pub(crate) fn new(kill: KillSwitch, report: oneshot::Receiver<Report>) -> Self {
        Self { abandoned: Abandoned(Some(kill.clone())), kill, report }
    }

    /// The attempt's end. Resolves exactly once, however the attempt ends: when this resolves,
    /// the guest's memory is freed and its slot is free.
    pub async fn outcome(self) -> Outcome {
        let report = self.report().await;
        let end = match report.result {
            Ok(Value::Output(bytes)) => End::Completed(bytes),
            // Only `describe` asks for kinds, and it does not come through here.
            Ok(Value::Kinds(_)) => End::Completed(Vec::new()),
            Err(failure) => End::Failed(failure),
        };
        Outcome { end, usage: report.usage }
    }

    pub(crate) async fn report(self) -> Report {
        let Self { report, mut abandoned, .. } = self;
        let report = report.await.unwrap_or_else(|_| Report {
            result: Err(outcome::sandbox_gone()),
            usage: Usage::default(),
        });
        // There is nothing left to kill.
        abandoned.0 = None;
        report
    }
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
