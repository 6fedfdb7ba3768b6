//! The worker's session: proves that the process is there, keeps its row in the registry, and, while
//! the worker leads, watches over the sessions of the others.

use crate::error::chain;
use crate::inflight::InFlight;
use crate::maintain::Leading;
use crate::stop::{Stop, StopReason};
use cofferdam_core::bounds::{confirm_interval, watch_interval};
use cofferdam_sandbox::Sandbox;
use cofferdam_store::{Presence, Store, StoreError, WorkerRow};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// How often the registration is renewed when nothing changes. Each renewal proves the session.
const RENEW_INTERVAL: Duration = Duration::from_secs(5);

/// How soon a change of the registration is told after the last one.
const CHANGE_INTERVAL: Duration = Duration::from_secs(1);

/// How long the database may take to answer before the session counts as lost.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Looks after the session.
pub(crate) struct Keeper {
    pub(crate) registration: Registration,
    pub(crate) leading: Leading,
    /// How long a session may be gone before its worker counts as dead; zero: sessions say nothing.
    pub(crate) crash_grace: Duration,
    pub(crate) orders: Stop,
    /// Told when the registration has changed in a way that people wait for.
    pub(crate) changed: Arc<Notify>,
    pub(crate) present: Present,
}

/// Whether the worker has its session. Copies look at the same.
#[derive(Clone, Debug)]
pub(crate) struct Present {
    here: watch::Sender<bool>,
    /// Told again and again while the session is lost.
    lost: Arc<Notify>,
}

impl Present {
    pub(crate) fn new() -> Self {
        Self { here: watch::Sender::new(true), lost: Arc::new(Notify::new()) }
    }

    /// Waits until the worker has its session. Without one nobody can see it, and it may have been
    /// forgotten: it takes no jobs then.
    pub(crate) async fn here(&self) {
        let mut here = self.here.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = here.wait_for(|here| *here).await;
    }

    /// Resolves while the session is lost, every now and then. The leader may take the worker for
    /// dead, unless it sees that its leases are renewed.
    pub(crate) async fn lost(&self) {
        self.lost.notified().await;
    }

    fn set(&self, here: bool) {
        self.here.send_if_modified(|was| std::mem::replace(was, here) != here);
        if !here {
            self.lost.notify_one();
        }
    }
}

/// What the worker says of itself.
pub(crate) struct Registration {
    pub(crate) row: WorkerRow,
    pub(crate) inflight: Arc<InFlight>,
    pub(crate) sandbox: Sandbox,
    pub(crate) draining: CancellationToken,
}

impl Registration {
    fn now(&self) -> WorkerRow {
        WorkerRow {
            occupied: self.inflight.len(),
            leaked: self.sandbox.status().leaked_attempts,
            draining: self.draining.is_cancelled(),
            ..self.row.clone()
        }
    }

    /// Registers the worker and takes its session, so that no job is ever leased to a worker that
    /// nobody can see.
    pub(crate) async fn begin(&self, store: &Store) -> Result<Presence, StoreError> {
        let row = self.now();
        store.register_worker(&row).await?;
        let mut session = store.presence(row.id);
        session.renew(&row, TIMEOUT).await?;
        Ok(session)
    }
}

/// What was told last, and when.
struct Told {
    at: Instant,
    row: WorkerRow,
    /// Whether the session held the lock. One of before, which Postgres has not ended yet, may.
    locked: bool,
}

impl Told {
    fn is_due(&self, row: &WorkerRow) -> bool {
        let changed = (row.occupied, row.leaked, row.draining)
            != (self.row.occupied, self.row.leaked, self.row.draining);
        let after = if changed || !self.locked { CHANGE_INTERVAL } else { RENEW_INTERVAL };
        self.at.elapsed() >= after
    }
}

impl Keeper {
    /// Looks after the session until `stop`, which comes after the last attempt has ended.
    pub(crate) async fn run(&self, mut session: Presence, stop: CancellationToken) {
        let mut period = watch_interval(self.crash_grace);
        let mut told =
            Some(Told { at: Instant::now(), row: self.registration.now(), locked: true });
        let mut lost = false;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(period) => {}
                () = self.changed.notified() => told = None,
            }
            match self.look_after(&mut session, &mut told).await {
                Ok(missing) => {
                    period = self.period(missing);
                    if lost {
                        info!("the worker's session is back");
                    }
                    lost = false;
                    self.present.set(true);
                }
                Err(error) => {
                    if !lost {
                        warn!(error = chain(&error), "lost the worker's session");
                    }
                    lost = true;
                    self.present.set(false);
                    // The next look takes a new one.
                    told = None;
                    period = self.period(0);
                }
            }
        }
    }

    /// How long until the next look. While somebody is missing it comes sooner: their grace counts
    /// from look to look.
    fn period(&self, missing: usize) -> Duration {
        match missing {
            0 => watch_interval(self.crash_grace),
            _ => confirm_interval(self.crash_grace),
        }
    }

    /// One look: tells what is due, and, while the worker leads, watches in every one of them, so
    /// that no end of a session waits for the next look because of the leader's own registration.
    /// Answers how many workers are missing, as far as it was looked for.
    async fn look_after(
        &self,
        session: &mut Presence,
        told: &mut Option<Told>,
    ) -> Result<usize, StoreError> {
        let row = self.registration.now();
        if told.as_ref().is_none_or(|told| told.is_due(&row)) {
            let at = Instant::now();
            let answer = session.renew(&row, TIMEOUT).await?;
            *told = Some(Told { at, row, locked: answer.locked });
            if !answer.here {
                self.orders.give(StopReason::Evicted);
                return Ok(0);
            }
            if answer.drain {
                self.orders.give(StopReason::Drain);
            }
        } else if !self.watches() {
            session.ping(TIMEOUT).await?;
        }
        if self.watches() { session.watch(TIMEOUT).await } else { Ok(0) }
    }

    fn watches(&self) -> bool {
        !self.crash_grace.is_zero() && self.leading.epoch().is_some()
    }
}
