//! Who runs the sweeps: the worker that holds the leader's row.
//!
//! Leadership spares the database the repetition; nothing rests on it. Every sweep is safe to run
//! twice at once, so a leader that is late to notice that it has been replaced does no harm, and
//! claiming needs no leader at all.

use super::sweep::Tallies;
use crate::error::chain;
use cofferdam_core::bounds::STANDBY_INTERVAL;
use cofferdam_core::ids::WorkerId;
use cofferdam_store::Store;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// How long a resignation may take: a drain does not wait for it longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether this worker leads. Copies look at the same.
#[derive(Clone, Debug)]
pub(crate) struct Leading(watch::Sender<Option<Lead>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lead {
    epoch: i64,
    /// When the row expires at the earliest, on this process's clock: counted from before the
    /// statement was sent that took or renewed it.
    until: Instant,
}

impl Leading {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(None))
    }

    /// The epoch, while this worker leads. A leader that cannot reach the database stops by itself,
    /// before its row has expired.
    pub(crate) fn epoch(&self) -> Option<i64> {
        self.at(Instant::now())
    }

    fn at(&self, now: Instant) -> Option<i64> {
        self.0.borrow().filter(|lead| now < lead.until).map(|lead| lead.epoch)
    }

    /// Waits until this worker leads.
    pub(crate) async fn begun(&self) {
        let mut changes = self.0.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = changes.wait_for(Option::is_some).await;
    }

    fn set(&self, lead: Option<Lead>) {
        self.0.send_replace(lead);
    }
}

/// Takes, renews and gives up the lead.
pub(crate) struct Leader {
    pub(crate) store: Store,
    pub(crate) worker: WorkerId,
    pub(crate) ttl: Duration,
    pub(crate) renew_interval: Duration,
    pub(crate) leading: Leading,
    pub(crate) tallies: Arc<Tallies>,
}

impl Leader {
    /// Leads whenever nobody else does, until `stop`.
    pub(crate) async fn run(&self, stop: CancellationToken) {
        let mut wait = Duration::ZERO;
        while stop.run_until_cancelled(tokio::time::sleep(wait)).await.is_some() {
            wait = self.turn().await;
        }
        if self.leading.epoch().is_some() {
            self.leading.set(None);
            match tokio::time::timeout(PATIENCE, self.store.resign(self.worker)).await {
                Ok(Ok(())) => info!(worker = %self.worker, "resigned as leader"),
                Ok(Err(error)) => warn!(error = chain(&error), "could not resign as leader"),
                Err(_) => warn!("the database did not take the resignation in time"),
            }
        }
    }

    /// Looks once, and says how long to wait until the next look.
    async fn turn(&self) -> Duration {
        let led = self.leading.epoch().is_some();
        let sent = Instant::now();
        // An answer that comes later than this is worth nothing any more.
        let asked = tokio::time::timeout(self.ttl / 2, self.store.lead(self.worker, self.ttl));
        match asked.await {
            Ok(Ok(Some(epoch))) => {
                if !led {
                    info!(worker = %self.worker, epoch, "leads");
                }
                self.leading.set(Some(Lead { epoch, until: sent + self.ttl }));
                self.report(epoch).await;
                self.renew_interval
            }
            Ok(Ok(None)) => {
                if led {
                    info!(worker = %self.worker, "somebody else leads");
                }
                self.leading.set(None);
                STANDBY_INTERVAL.min(self.renew_interval)
            }
            Ok(Err(error)) => {
                warn!(error = chain(&error), "could not ask who leads");
                STANDBY_INTERVAL.min(self.renew_interval)
            }
            Err(_) => {
                warn!("the database did not say in time who leads");
                Duration::ZERO
            }
        }
    }

    /// Tells the database what the sweeps did since the last time, for people and metrics.
    async fn report(&self, epoch: i64) {
        let reports = self.tallies.take();
        if reports.is_empty() {
            return;
        }
        let told = self.store.report_sweeps(self.worker, epoch, &reports);
        match tokio::time::timeout(self.ttl / 2, told).await {
            Ok(Ok(())) => {}
            // The sums are short of these runs; the rows that were moved are what counts.
            Ok(Err(error)) => warn!(error = chain(&error), "could not report the sweeps"),
            Err(_) => warn!("the database did not take the report of the sweeps in time"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S93: a leader that cannot reach the database is none by the time that its row expires.
    #[test]
    fn a_leader_that_hears_nothing_stops_by_itself() {
        let leading = Leading::new();
        let start = Instant::now();
        let ttl = Duration::from_secs(15);
        assert_eq!(leading.at(start), None);

        leading.set(Some(Lead { epoch: 7, until: start + ttl }));

        assert_eq!(leading.at(start + Duration::from_secs(14)), Some(7));
        assert_eq!(leading.at(start + ttl), None);
    }
}
