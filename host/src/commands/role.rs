//! What the roles share: running until told to stop.

use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::printer::Printer;
use crate::signals::Signals;
use cofferdam_api::ServeError;
use cofferdam_core::units::format_duration;
use cofferdam_runner::Worker;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A server that runs beside the rest.
pub(super) struct Server {
    pub(super) task: JoinHandle<Result<(), ServeError>>,
    pub(super) stop: CancellationToken,
}

impl Server {
    /// Waits until the server has ended by itself, which it only does when it fails.
    pub(super) async fn ended(&mut self) -> CommandError {
        match (&mut self.task).await {
            Ok(Ok(())) => CommandError::failed("the server stopped"),
            Ok(Err(error)) => CommandError::hinted(Exit::Failed, &error),
            Err(error) => CommandError::failed("the server stopped").caused_by(&error),
        }
    }

    /// Lets the requests under way finish.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::warn!(%error, "the server did not stop well");
        }
    }
}

/// A worker that stops because a part of it ended on its own. Whoever supervises the process
/// starts it again.
pub(super) fn broken() -> CommandError {
    CommandError::failed("a part of the worker stopped")
        .hint("its log says which; this is a defect of Cofferdam's, please report it")
}

/// Drains a worker, and says what is waited for.
pub(super) async fn drain(worker: Worker, grace: Duration, signals: &Signals, printer: Printer) {
    let running = worker.status().occupied;
    if running > 0 {
        let jobs = if running == 1 { "1 job".to_owned() } else { format!("{running} jobs") };
        printer.note(&format!(
            "Waiting up to {} for {jobs}; once more stops at once.",
            format_duration(grace)
        ));
    }
    worker.drain(grace, signals.hurry.clone()).await;
}
