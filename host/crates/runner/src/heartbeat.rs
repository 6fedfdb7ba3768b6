//! Renews the leases of running attempts, and kills those that were lost.

use crate::error::chain;
use crate::inflight::InFlight;
use crate::moment::Moment;
use crate::presence::Present;
use cofferdam_core::bounds::next_beat;
use cofferdam_core::ids::{LeaseKey, WorkerId};
use cofferdam_sandbox::KillReason;
use cofferdam_store::{Heartbeats, Store};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

/// The most leases that one statement renews.
const CHUNK: usize = 500;

/// How often, and after which pause, leases are tried again that somebody else had locked.
const RETRIES: usize = 3;
const RETRY_WAIT: Duration = Duration::from_millis(100);

/// Renews leases.
pub(crate) struct Heartbeat {
    pub(crate) store: Store,
    pub(crate) worker: WorkerId,
    pub(crate) inflight: Arc<InFlight>,
    pub(crate) interval: Duration,
    /// How long a guest's thread may be inside one call before its attempt does not count as alive.
    pub(crate) stall: Duration,
    pub(crate) present: Present,
}

impl Heartbeat {
    /// Beats until `stop`, which comes after the last attempt has ended.
    pub(crate) async fn run(&self, stop: CancellationToken) {
        tokio::join!(self.beat_loop(&stop), self.fence_loop(&stop));
    }

    async fn beat_loop(&self, stop: &CancellationToken) {
        let mut line = self.store.heartbeats();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(next_beat(self.interval, rand::random())) => {}
                // The heartbeats are all that tells a worker without its session from a dead one.
                () = self.present.lost() => {}
            }
            let mut missed = self.beat(&mut line, self.inflight.keys(self.stall)).await;
            for _ in 0..RETRIES {
                if missed.is_empty() {
                    break;
                }
                tokio::time::sleep(RETRY_WAIT).await;
                missed = self.beat(&mut line, missed).await;
            }
        }
    }

    /// Renews leases, and answers with those that are held but were locked by somebody else.
    async fn beat(&self, line: &mut Heartbeats, keys: Vec<LeaseKey>) -> Vec<LeaseKey> {
        let mut missed = Vec::new();
        for chunk in statements(&keys) {
            let sent = Moment::now();
            let beats = match line.beat(self.worker, chunk, self.interval / 2).await {
                Ok(beats) => beats,
                // The leases may still be good, so the guests go on until the fence.
                Err(error) => {
                    let error = chain(&error);
                    warn!(error, leases = chunk.len(), "could not renew leases");
                    continue;
                }
            };
            let mut held = HashSet::with_capacity(beats.len());
            for beat in &beats {
                held.insert(beat.key);
                if beat.renewed {
                    self.inflight.confirm(beat.key, sent);
                } else {
                    missed.push(beat.key);
                }
                if beat.cancel {
                    self.inflight.kill(beat.key, KillReason::Cancelled);
                }
            }
            for lost in chunk.iter().filter(|key| !held.contains(*key)) {
                // Either the outcome was written since the keys were read, and this does nothing,
                // or the lease was rescued, and the guest must end.
                info!(lease = %lost, "the lease is gone");
                self.inflight.kill(*lost, KillReason::LeaseLost);
            }
        }
        missed
    }

    /// Kills attempts whose leases could not be renewed in time, and gives up on those that do not
    /// end even so. Looks ten times as often as the leases are renewed.
    async fn fence_loop(&self, stop: &CancellationToken) {
        let look = self.interval / 10;
        while stop.run_until_cancelled(tokio::time::sleep(look)).await.is_some() {
            let now = Moment::now();
            let fenced = self.inflight.fence(now);
            if fenced > 0 {
                warn!(attempts = fenced, "killed attempts whose leases could not be renewed");
            }
            let given_up = self.inflight.give_up(now, self.stall);
            if given_up > 0 {
                error!(attempts = given_up, "gave up on attempts that do not end");
            }
        }
    }
}

/// The leases of each statement that renews some of them.
fn statements(keys: &[LeaseKey]) -> impl Iterator<Item = &[LeaseKey]> {
    keys.chunks(CHUNK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::ids::JobId;
    use uuid::Uuid;

    /// S13: no statement renews more than 500 leases, and none is left out.
    #[test]
    fn many_leases_are_renewed_by_few_statements() {
        let key = |lease| LeaseKey { job: JobId::from_uuid(Uuid::nil()), run_lease: lease };
        let keys: Vec<_> = (1..=1201).map(key).collect();
        let sizes: Vec<_> = statements(&keys).map(<[LeaseKey]>::len).collect();
        assert_eq!(sizes, [500, 500, 201]);
        assert_eq!(
            statements(&keys).flatten().collect::<Vec<_>>(),
            keys.iter().collect::<Vec<_>>()
        );
        assert_eq!(statements(&[]).count(), 0);
    }
}
