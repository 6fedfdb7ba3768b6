//! Renews the leases of running attempts, and kills those that were lost.

use crate::error::chain;
use crate::inflight::InFlight;
use cofferdam_core::ids::{LeaseKey, WorkerId};
use cofferdam_sandbox::KillReason;
use cofferdam_store::Store;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// The most leases that one statement renews.
const CHUNK: usize = 500;

/// How far each wait is from the interval at most, so that a fleet does not beat in step.
const JITTER: f64 = 0.1;

/// Renews leases.
pub(crate) struct Heartbeat {
    pub(crate) store: Store,
    pub(crate) worker: WorkerId,
    pub(crate) inflight: Arc<InFlight>,
    pub(crate) interval: Duration,
    pub(crate) staleness: Duration,
}

impl Heartbeat {
    /// Beats until `stop`, which comes after the last attempt has ended.
    pub(crate) async fn run(&self, stop: CancellationToken) {
        tokio::join!(self.beat_loop(&stop), self.fence_loop(&stop));
    }

    async fn beat_loop(&self, stop: &CancellationToken) {
        loop {
            let factor = 1.0 + JITTER * (rand::random::<f64>() * 2.0 - 1.0);
            let wait = tokio::time::sleep(self.interval.mul_f64(factor));
            if stop.run_until_cancelled(wait).await.is_none() {
                return;
            }
            for chunk in self.inflight.keys().chunks(CHUNK) {
                self.beat(chunk).await;
            }
        }
    }

    async fn beat(&self, keys: &[LeaseKey]) {
        let sent = Instant::now();
        let beats = match self.store.heartbeat(self.worker, keys).await {
            Ok(beats) => beats,
            // The leases may still be good, so the guests go on until the fence.
            Err(error) => {
                return warn!(error = chain(&error), leases = keys.len(), "could not renew leases");
            }
        };
        let mut held = HashSet::with_capacity(beats.len());
        for beat in &beats {
            held.insert(beat.key);
            self.inflight.confirm(beat.key, sent);
            if beat.cancel {
                self.inflight.kill(beat.key, KillReason::Cancelled);
            }
        }
        for lost in keys.iter().filter(|key| !held.contains(*key)) {
            // Either the outcome was written since the keys were read, and this does nothing, or
            // the lease was rescued, and the guest must end.
            info!(lease = %lost, "the lease is gone");
            self.inflight.kill(*lost, KillReason::LeaseLost);
        }
    }

    /// Kills attempts whose leases could not be renewed in time. Looks ten times as often as the
    /// leases are renewed, and fences that much earlier, so that the kill is never late.
    async fn fence_loop(&self, stop: &CancellationToken) {
        let look = self.interval / 10;
        let bound = self.staleness.saturating_sub(look * 2);
        while stop.run_until_cancelled(tokio::time::sleep(look)).await.is_some() {
            let fenced = self.inflight.fence(Instant::now(), bound);
            if fenced > 0 {
                warn!(attempts = fenced, "killed attempts whose leases could not be renewed");
            }
        }
    }
}
