//! The processes of the platform, and the supervisor that starts them again.

use crate::journal::Journal;
use crate::postgres::Postgres;
use crate::process::{Process, Tag};
use crate::reaper::Reaper;
use crate::role::{Role, Roles};
use anyhow::{Context, Result};
use cofferdam_testkit::proxy::Proxy;
use nix::sys::signal::Signal;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many workers there are.
pub const WORKERS: usize = 3;

/// How long a process may take to drain: its own grace, a statement and an outcome whose answers
/// the network swallowed, and the goodbyes, on a machine that is shared.
const DRAIN_BOUND: Duration = Duration::from_mins(2);

/// How long the supervisor waits before it starts a process again.
const PAUSE: Duration = Duration::from_millis(300);

/// A place that one process at a time fills.
pub struct Seat {
    role: Role,
    /// Between the process and its database.
    pub proxy: Proxy,
    /// By how many seconds the clock of the next process is ahead.
    pub skew: AtomicI64,
    current: Mutex<Option<Arc<Process>>>,
}

impl Seat {
    fn current(&self) -> MutexGuard<'_, Option<Arc<Process>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process that fills it now.
    pub fn process(&self) -> Option<Arc<Process>> {
        self.current().clone()
    }

    /// How it is known.
    pub fn name(&self) -> String {
        self.role.name()
    }
}

/// See the module's documentation.
pub struct Fleet {
    seats: Vec<Seat>,
    roles: Roles,
    journal: Arc<Journal>,
    reaper: Arc<Reaper>,
    /// Every process that was ever started.
    processes: Mutex<Vec<Arc<Process>>>,
    stopping: AtomicBool,
}

impl Fleet {
    /// Starts a server and the workers, and waits until they are ready or have failed once.
    pub async fn start(
        roles: Roles,
        postgres: &Postgres,
        journal: Arc<Journal>,
        reaper: Arc<Reaper>,
    ) -> Result<Arc<Self>> {
        let mut seats = Vec::new();
        for role in std::iter::once(Role::Server).chain((1..=WORKERS).map(Role::Worker)) {
            let proxy = Proxy::start(postgres.upstream()).await?;
            seats.push(Seat { role, proxy, skew: AtomicI64::new(0), current: Mutex::default() });
        }
        let fleet = Arc::new(Self {
            seats,
            roles,
            journal,
            reaper,
            processes: Mutex::default(),
            stopping: AtomicBool::new(false),
        });
        for seat in 0..fleet.seats.len() {
            fleet.fill(seat)?;
        }
        fleet.ready().await;
        Ok(fleet)
    }

    /// Waits until every seat is filled by a process that is ready or has ended.
    pub async fn ready(&self) {
        for seat in &self.seats {
            if let Some(process) = seat.process() {
                process.ready().await;
            }
        }
    }

    /// Starts a process in a seat, and sees to it that another follows when it ends.
    fn fill(self: &Arc<Self>, index: usize) -> Result<()> {
        let seat = self.seats.get(index).context("there is no such seat")?;
        let skew = seat.skew.load(Ordering::Relaxed);
        let mut command = self.roles.command(seat.role, seat.proxy.address(), skew);
        let tag = Tag { name: seat.role.name(), skew: skew.saturating_mul(1_000_000_000) };
        let process = Process::start(&mut command, tag, &self.journal, &self.reaper)?;
        self.processes().push(process.clone());
        *seat.current() = Some(process.clone());
        let fleet = self.clone();
        tokio::spawn(async move {
            process.ended().await;
            tokio::time::sleep(PAUSE).await;
            if let Err(error) = fleet.refill(index, &process) {
                fleet.journal.defect(format!("cannot start a process again: {error:#}"));
            }
        });
        Ok(())
    }

    /// Starts another process where this one was, unless that has happened.
    fn refill(self: &Arc<Self>, index: usize, ended: &Arc<Process>) -> Result<()> {
        let seat = self.seats.get(index).context("there is no such seat")?;
        let current = seat.process().is_some_and(|process| Arc::ptr_eq(&process, ended));
        if current && !self.stopping.load(Ordering::Relaxed) {
            self.fill(index)?;
        }
        Ok(())
    }

    /// The server's seat.
    pub fn server(&self) -> Option<&Seat> {
        self.seats.first()
    }

    /// The seats of workers.
    pub fn workers(&self) -> &[Seat] {
        self.seats.get(1..).unwrap_or_default()
    }

    /// Whether a process can have a wrong clock.
    pub fn has_skew(&self) -> bool {
        self.roles.skew.is_some()
    }

    /// Uploads a component under a name.
    pub fn push(&self, component: &Path, name: &str) -> Result<()> {
        self.roles.push(component, name)
    }

    /// Every process that was ever started.
    pub fn processes(&self) -> MutexGuard<'_, Vec<Arc<Process>>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process with a number, among those that run.
    pub fn find(&self, pid: i32) -> Option<Arc<Process>> {
        self.processes().iter().find(|it| it.pid == pid && it.is_running()).cloned()
    }

    /// Tells the process of a worker's seat to drain, and starts its replacement at once.
    pub fn replace(self: &Arc<Self>, worker: usize) -> Result<Option<i32>> {
        let seat = self.workers().get(worker).context("there is no such worker")?;
        let Some(process) = seat.process().filter(|process| process.is_ready()) else {
            return Ok(None);
        };
        let (pid, fleet) = (process.pid, self.clone());
        process.signal(Signal::SIGTERM);
        // First in its seat: the end of the old process then starts no other.
        self.fill(worker + 1)?;
        tokio::spawn(async move { fleet.see_off(&process).await });
        Ok(Some(pid))
    }

    /// Waits until a process that was told to drain has done so.
    async fn see_off(&self, process: &Process) {
        if tokio::time::timeout(DRAIN_BOUND, process.ended()).await.is_err() {
            let name = &process.tag.name;
            self.journal.defect(format!("{name} (pid {}) does not stop", process.pid));
            process.kill();
            process.ended().await;
        }
    }

    /// Drains every process and waits until they are gone.
    pub async fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        // A process may have been on its way when that was said.
        loop {
            let running: Vec<_> =
                self.processes().iter().filter(|process| process.is_running()).cloned().collect();
            if running.is_empty() {
                break;
            }
            for process in &running {
                process.signal(Signal::SIGTERM);
            }
            for process in &running {
                self.see_off(process).await;
                let status = process.status().unwrap_or_default();
                if process.is_ready() && process.killed().is_none() && !status.success() {
                    let (name, pid) = (&process.tag.name, process.pid);
                    self.journal.defect(format!("{name} (pid {pid}) did not stop well: {status}"));
                }
            }
        }
        // Those that were killed may not have been read to their end yet.
        let all = self.processes().clone();
        for process in all {
            process.ended().await;
        }
    }

    /// How the processes ended that nobody killed, and how many ended so.
    pub fn exits(&self) -> std::collections::BTreeMap<String, usize> {
        let mut exits = std::collections::BTreeMap::new();
        for process in self.processes().iter().filter(|process| process.killed().is_none()) {
            if let Some(status) = process.status() {
                let when = if process.is_ready() { "" } else { " before it was ready" };
                *exits.entry(format!("{status}{when}")).or_default() += 1;
            }
        }
        exits
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        for process in self.processes().iter() {
            process.kill();
        }
    }
}
