//! The worker of a role, from its start to its end, through as many incarnations as it takes.

use super::role;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::printer::Printer;
use crate::signals::Signals;
use crate::wire;
use cofferdam_core::ids::WorkerId;
use cofferdam_core::units::format_duration;
use cofferdam_runner::{Modules, StopReason, Worker, WorkerSettings};
use cofferdam_store::Store;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait until an evicted worker is started anew that could not be.
const REJOIN_PAUSE: Duration = Duration::from_secs(1);

/// What every incarnation is started with.
pub(super) struct Shift {
    settings: WorkerSettings,
    store: Store,
    modules: Modules,
    printer: Printer,
}

impl Shift {
    /// A shift of workers with these settings.
    pub(super) fn new(
        settings: WorkerSettings,
        store: Store,
        modules: Modules,
        printer: Printer,
    ) -> Result<Self> {
        let executable = executable()?;
        let give_up = if printer.is_json() { role::give_up_in_json } else { role::give_up };
        let settings =
            WorkerSettings { alone: Some(executable), give_up: Some(give_up), ..settings };
        Ok(Self { settings, store, modules, printer })
    }

    /// Starts an incarnation.
    pub(super) async fn start(&self) -> Result<Worker> {
        Worker::start(self.settings.clone(), self.store.clone(), self.modules.clone())
            .await
            .map_err(|error| wire::worker_failed(&error))
    }

    /// Works until told to stop, or until `failed` says that something else has: then it drains,
    /// and answers with that.
    pub(super) async fn work(
        &self,
        mut worker: Worker,
        signals: &Signals,
        failed: impl Future<Output = CommandError>,
    ) -> Result<Exit> {
        tokio::pin!(failed);
        loop {
            let reason = tokio::select! {
                () = signals.stop.cancelled() => {
                    self.drain(worker, signals).await;
                    return Ok(Exit::Ok);
                }
                error = &mut failed => {
                    self.drain(worker, signals).await;
                    return Err(error);
                }
                reason = worker.must_stop() => reason,
            };
            match reason {
                StopReason::Evicted => match self.replace(worker, signals).await? {
                    Some(next) => worker = next,
                    None => return Ok(Exit::Ok),
                },
                StopReason::Drain => {
                    self.printer.note("An operator asked this worker to leave.");
                    self.drain(worker, signals).await;
                    return Ok(Exit::Ok);
                }
                StopReason::Leaked => {
                    self.drain(worker, signals).await;
                    return Err(leaked(self.settings.max_leaked));
                }
                StopReason::Broken => {
                    self.drain(worker, signals).await;
                    return Err(broken());
                }
            }
        }
    }

    /// Ends a worker that was declared dead and starts another one, under a new id: nothing that
    /// the old one still believes can be taken for the new one's. `None`: told to stop meanwhile.
    async fn replace(&self, old: Worker, signals: &Signals) -> Result<Option<Worker>> {
        let gone = old.id();
        old.abandon().await;
        loop {
            match self.start().await {
                Ok(worker) => {
                    self.announce(gone, worker.id());
                    return Ok(Some(worker));
                }
                // As when the database goes away under a worker: it waits.
                Err(error) if error.exit == Exit::Unreachable => {
                    tracing::warn!(error = error.message, "cannot come back yet");
                }
                Err(error) => return Err(error),
            }
            let pause = tokio::time::sleep(REJOIN_PAUSE);
            if signals.stop.run_until_cancelled(pause).await.is_none() {
                return Ok(None);
            }
        }
    }

    fn announce(&self, old: WorkerId, new: WorkerId) {
        tracing::warn!(%old, %new, "this worker was evicted, and is back under a new id");
        self.printer.note(&format!("Worker {old} was evicted; this is worker {new} now."));
        if self.printer.is_json() {
            let line =
                serde_json::json!({ "worker": new, "pid": std::process::id(), "replaces": old });
            // Whoever started this process may have stopped reading long ago.
            let _ = Printer::object(&line);
        }
    }

    /// Drains a worker, and says what is waited for.
    async fn drain(&self, worker: Worker, signals: &Signals) {
        self.printer.note("Stopping.");
        let running = worker.status().occupied;
        let grace = self.settings.drain_grace;
        if running > 0 {
            let jobs = if running == 1 { "1 job".to_owned() } else { format!("{running} jobs") };
            self.printer.note(&format!(
                "Waiting up to {} for {jobs}; once more stops at once.",
                format_duration(grace)
            ));
        }
        worker.drain(grace, signals.hurry.clone()).await;
    }
}

/// What runs here, for processes that do the same. The kernel's own link leads to it even when the
/// file at its path is another one by now, as after an upgrade.
fn executable() -> Result<PathBuf> {
    let link = Path::new("/proc/self/exe");
    if link.exists() {
        return Ok(link.to_owned());
    }
    std::env::current_exe().map_err(|error| {
        CommandError::failed("cannot find the executable of this process").caused_by(&error)
    })
}

/// A worker that stops because a part of it ended on its own.
fn broken() -> CommandError {
    CommandError::new(Exit::GaveUp, "a part of the worker stopped")
        .hint("its log says which; this is a defect of Cofferdam's, please report it")
}

/// A worker that stops because its guests hold threads that it cannot get back.
fn leaked(most: usize) -> CommandError {
    CommandError::new(Exit::GaveUp, "too many threads are stuck in calls of guests")
        .cause(format!("more than the {most} that COFFERDAM_MAX_LEAKED allows"))
        .hint("the log says which calls; a process that is started again is whole")
}
