//! Breaking things, and mending those that do not mend themselves.

mod network;
mod postgres;
mod processes;

use crate::clock::{self, Nanos};
use crate::fleet::Fleet;
use crate::postgres::Postgres;
use crate::schedule::{Fault, Kind};
use anyhow::Result;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;

/// A fault that was injected.
#[derive(Clone, Debug)]
pub struct Injected {
    /// When.
    pub at: Nanos,
    /// When it was over; that of its start where it was over at once.
    pub until: Nanos,
    /// What.
    pub kind: Kind,
    /// What it hit.
    pub what: String,
}

/// Every fault that was injected, in the order of time.
#[derive(Debug, Default)]
pub struct Log(Mutex<Vec<Injected>>);

impl Log {
    /// All of them.
    pub fn all(&self) -> Vec<Injected> {
        self.lock().clone()
    }

    fn add(&self, injected: Injected) {
        self.lock().push(injected);
    }

    /// A task that panicked has left nothing half done.
    fn lock(&self) -> MutexGuard<'_, Vec<Injected>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was done: what it hit, and how to mend it.
enum Done {
    /// Nothing that it could hit was there.
    Nothing,
    /// It is over.
    Over(String),
    /// It lasts, and this ends it.
    Lasts(String, Box<dyn FnOnce() + Send>),
}

/// Injects faults.
pub struct Injector {
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) postgres: Arc<Postgres>,
    log: Arc<Log>,
    /// Those that last, until they are over.
    lasting: JoinSet<()>,
}

impl Injector {
    /// Writes what it does into a log.
    pub fn new(fleet: Arc<Fleet>, postgres: Arc<Postgres>, log: Arc<Log>) -> Self {
        Self { fleet, postgres, log, lasting: JoinSet::new() }
    }

    /// Injects a fault. Returns when it has begun, or, where Postgres goes away, when it is back.
    pub async fn inject(&mut self, fault: &Fault) -> Result<()> {
        let (at, kind) = (clock::now(), fault.kind);
        let done = match kind {
            Kind::KillWorker => self.kill_worker(fault),
            Kind::KillLeader => self.kill_leader().await?,
            Kind::KillServer => self.kill_server(),
            Kind::Freeze => self.freeze(fault),
            Kind::Skew => self.skew(fault),
            Kind::Drain => self.drain(fault)?,
            Kind::RestartFast | Kind::RestartImmediate | Kind::KillPostgres => {
                self.restart(fault).await?
            }
            Kind::KillBackend => self.kill_backend(fault).await?,
            Kind::TerminateSome | Kind::TerminateAll => self.terminate(fault).await?,
            Kind::BlackHole | Kind::Delay => self.disturb(fault),
            Kind::Reset => self.reset(fault),
        };
        match done {
            Done::Nothing => {}
            Done::Over(what) => self.log.add(Injected { at, until: clock::now(), kind, what }),
            Done::Lasts(what, mend) => {
                let (log, lasts) = (self.log.clone(), fault.lasts);
                let until = at.saturating_add(clock::nanos(lasts));
                // It is in the log while it lasts.
                log.add(Injected { at, until, kind, what });
                self.lasting.spawn(async move {
                    tokio::time::sleep(lasts).await;
                    mend();
                });
            }
        }
        Ok(())
    }

    /// Waits until every fault that lasts is over.
    pub async fn calm(&mut self) {
        while self.lasting.join_next().await.is_some() {}
    }

    /// The number of a worker that is ready: the one that the fault names, or one after it.
    fn target(&self, fault: &Fault) -> Option<usize> {
        let workers = self.fleet.workers();
        let ready = |worker: &usize| {
            let process = workers.get(*worker).and_then(crate::fleet::Seat::process);
            process.is_some_and(|process| process.is_ready() && process.is_running())
        };
        (0..workers.len()).map(|step| (fault.worker + step) % workers.len()).find(ready)
    }
}

/// A duration for people.
fn told(duration: Duration) -> String {
    format!("for {:.1} s", duration.as_secs_f64())
}
