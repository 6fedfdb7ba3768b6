//! Kills the process of every guest that asks for it.

use crate::clock::{self, Nanos};
use crate::fleet::Fleet;
use crate::journal::{Journal, Poison};
use crate::proc;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;
use uuid::Uuid;

/// A process that was killed for its guest's sake.
#[derive(Clone, Debug)]
pub struct Execution {
    /// When.
    pub at: Nanos,
    /// The guest's job.
    pub job: Uuid,
    /// Which claim of it.
    pub run_lease: i64,
    /// What was killed.
    pub what: String,
    /// Whether it was a process that had the guest alone.
    pub alone: bool,
}

impl Execution {
    /// Whether it was for the sake of this attempt.
    pub fn is_of(&self, job: Uuid, run_lease: i64) -> bool {
        (self.job, self.run_lease) == (job, run_lease)
    }
}

/// Everything that was killed, in the order of time.
#[derive(Debug, Default)]
pub struct Executions(Mutex<Vec<Execution>>);

impl Executions {
    /// All of them.
    pub fn all(&self) -> Vec<Execution> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, execution: Execution) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(execution);
    }
}

/// Kills for as long as somebody asks.
pub async fn run(
    mut poisoned: mpsc::UnboundedReceiver<Poison>,
    fleet: Arc<Fleet>,
    journal: Arc<Journal>,
    executions: Arc<Executions>,
) {
    while let Some(poison) = poisoned.recv().await {
        let at = clock::now();
        if let Some((what, alone)) = execute(&poison, &fleet, &journal) {
            let Poison { job, run_lease, .. } = poison;
            executions.add(Execution { at, job, run_lease, what, alone });
        }
    }
}

/// Kills the process that runs the guest: the worker's child that has it alone, or the worker. Says
/// what it killed, and whether the guest was alone in it. Where that has ended, so has the attempt.
fn execute(poison: &Poison, fleet: &Fleet, journal: &Journal) -> Option<(String, bool)> {
    let worker = fleet.find(poison.pid)?;
    let name = &worker.tag.name;
    let Some(pid) = journal.process_of(poison.job) else {
        return worker.kill().then(|| (format!("{name} (pid {})", worker.pid), false));
    };
    // Its number may be another's by now, but not that of a child of this worker.
    let child = proc::children(worker.pid).into_iter().find(|child| child.pid == pid)?;
    kill(Pid::from_raw(pid), Signal::SIGKILL).ok()?;
    Some((format!("a child of {name}: {child}"), true))
}
