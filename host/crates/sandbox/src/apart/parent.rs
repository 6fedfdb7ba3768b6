//! Attempts apart as the rest of the host sees them.

use super::claims;
use super::reins::ApartReins;
use super::settings::ApartSettings;
use super::supervisor::{self, Order};
use crate::attempt::Attempt;
use crate::code::Artefact;
use crate::kill::{KillReason, Reins};
use cofferdam_core::class::FailureClass;
use cofferdam_core::outcome::{End, Failure, Outcome, Usage};
use std::path::PathBuf;
use std::sync::Arc;
use std::{io, thread};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Runs attempts in processes of their own, one each. Copies are the same.
#[derive(Clone, Debug)]
pub struct Apart(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    executable: PathBuf,
    settings: ApartSettings,
    /// One permit for each process that may be there now.
    rooms: Arc<Semaphore>,
}

/// Room for one process, taken until this is dropped.
#[derive(Debug)]
pub struct Room {
    _permit: Option<OwnedSemaphorePermit>,
}

/// An attempt under way in a process of its own. Dropping it ends the attempt and its process:
/// nobody would hear of its outcome.
#[must_use = "dropping a running attempt kills it"]
#[derive(Debug)]
pub struct ApartRunning {
    /// Ends the attempt, and keeps it alive.
    pub reins: Arc<dyn Reins>,
    process: Arc<ApartReins>,
    outcome: oneshot::Receiver<Outcome>,
    started: io::Result<()>,
    abandoned: Abandoned,
}

impl Apart {
    /// `executable` is called as `executable attempt --parent PID`, and must answer with
    /// [`serve`](super::serve) of this same version of the crate. Its path must be absolute.
    pub fn new(executable: PathBuf, settings: ApartSettings) -> Self {
        let rooms = settings.processes.clamp(1, Semaphore::MAX_PERMITS);
        Self(Arc::new(Inner { executable, settings, rooms: Arc::new(Semaphore::new(rooms)) }))
    }

    /// Waits until there is room for one more process, first come, first served. May be dropped
    /// while it waits.
    pub async fn room(&self) -> Room {
        // Nobody closes the semaphore; were it closed, there would be no bound to wait for.
        Room { _permit: Arc::clone(&self.0.rooms).acquire_owned().await.ok() }
    }

    /// Starts a process, has it load the artefact and run the attempt. Never blocks.
    ///
    /// The host of the attempt is called on a thread that belongs to this attempt, with a tokio
    /// runtime entered. How much may be logged, kept and returned is checked on this side again.
    /// The room is free again when the process is gone.
    pub fn run(&self, room: Room, artefact: Artefact, attempt: Attempt) -> ApartRunning {
        let reins = Arc::new(ApartReins::new(attempt.lease_until));
        let (done, outcome) = oneshot::channel();
        let (inner, theirs) = (Arc::clone(&self.0), Arc::clone(&reins));
        // A thread for each, which lives as long as the child: the kernel ends the child when the
        // thread that started it ends. And whatever a child makes of its words, it costs this
        // thread, and not the runtime that beats for the others.
        let thread = thread::Builder::new().name("apart".to_owned()).spawn(move || {
            let order = Order { artefact, attempt };
            let outcome = supervisor::run(&inner.executable, &inner.settings, order, &theirs);
            drop(room);
            // Nobody may be listening any more; then nobody misses it.
            let _ = done.send(outcome);
        });
        ApartRunning {
            reins: Arc::clone(&reins) as _,
            abandoned: Abandoned(Some(Arc::clone(&reins))),
            process: reins,
            outcome,
            started: thread.map(drop),
        }
    }
}

impl ApartRunning {
    /// The attempt's process, once there is one.
    pub fn pid(&self) -> Option<u32> {
        self.process.pid()
    }

    /// The attempt's end. Resolves exactly once, however the attempt and its process end: when
    /// this resolves, the process is gone.
    ///
    /// Beside the classes of an attempt in this process there are: `lost` with the code
    /// `process_died` for a process that ended without an outcome, or that did what none of ours
    /// does; and `released` with the code `no-process` where the guest never had a chance.
    pub async fn outcome(mut self) -> Outcome {
        let outcome = (&mut self.outcome).await;
        // There is nothing left to kill.
        self.abandoned.0 = None;
        let failure = match (outcome, &self.started) {
            (Ok(outcome), _) => return outcome,
            (Err(_), Err(error)) => {
                claims::no_process(&format!("no thread to supervise it: {error}"))
            }
            (Err(_), Ok(())) => Failure::new(
                FailureClass::Released,
                "host-panic",
                "the host panicked while it supervised the process of the attempt",
            ),
        };
        Outcome { end: End::Failed(failure), usage: Usage::default() }
    }
}

/// Kills an attempt that nobody waits for.
#[derive(Debug)]
struct Abandoned(Option<Arc<ApartReins>>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        if let Some(reins) = self.0.take() {
            reins.kill(KillReason::Shutdown);
        }
    }
}
