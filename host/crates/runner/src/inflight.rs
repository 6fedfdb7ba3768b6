//! The attempts that this worker holds leases for.
//!
//! An attempt is in this table from the moment its claim is known until the database has
//! acknowledged its outcome or refused it. Heartbeats, cancels and drains all work from it.

use cofferdam_core::ids::LeaseKey;
use cofferdam_sandbox::{KillReason, KillSwitch};
use lru::LruCache;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How many cancels are remembered that came before their claim was known here. Each is for a job
/// that this or another worker has just claimed.
const EARLY_CANCELS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1023);

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct InFlight {
    attempts: Mutex<HashMap<LeaseKey, Entry>>,
    /// Cancels of leases that are not in the table. The notification of a cancel may overtake the
    /// answer to the claim.
    early: Mutex<LruCache<LeaseKey, ()>>,
    /// The number of attempts, for whoever waits until there is none.
    count: watch::Sender<usize>,
}

#[derive(Debug)]
struct Entry {
    /// Set once the guest is on its thread.
    kill: Option<KillSwitch>,
    /// Why the attempt is to end, once somebody wants it to.
    killed: Option<KillReason>,
    /// Tells those who prepare the attempt that it is to end.
    stop: CancellationToken,
    /// When the statement was sent that last proved the lease: the claim or a heartbeat.
    confirmed: Instant,
}

impl InFlight {
    pub(crate) fn new() -> Self {
        Self {
            attempts: Mutex::new(HashMap::new()),
            early: Mutex::new(LruCache::new(EARLY_CANCELS)),
            count: watch::Sender::new(0),
        }
    }

    /// A panic elsewhere must not stop the heartbeats, and every change here is a single step.
    fn attempts(&self) -> MutexGuard<'_, HashMap<LeaseKey, Entry>> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a claim. `sent` is when the claiming statement was sent.
    pub(crate) fn insert(&self, key: LeaseKey, sent: Instant) {
        let stop = CancellationToken::new();
        let mut entry = Entry { kill: None, killed: None, stop, confirmed: sent };
        let mut attempts = self.attempts();
        if self.early().pop(&key).is_some() {
            entry.kill(KillReason::Cancelled);
        }
        attempts.insert(key, entry);
        self.count.send_replace(attempts.len());
    }

    fn early(&self) -> MutexGuard<'_, LruCache<LeaseKey, ()>> {
        self.early.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets an attempt whose outcome the database has settled.
    pub(crate) fn remove(&self, key: LeaseKey) {
        let mut attempts = self.attempts();
        attempts.remove(&key);
        self.count.send_replace(attempts.len());
    }

    /// Connects the attempt with its guest. A kill that came earlier is carried out now.
    pub(crate) fn started(&self, key: LeaseKey, kill: &KillSwitch) {
        if let Some(entry) = self.attempts().get_mut(&key) {
            if let Some(reason) = entry.killed {
                kill.kill(reason);
            }
            entry.kill = Some(kill.clone());
        }
    }

    /// The reason for which the attempt must not start any more.
    pub(crate) fn killed(&self, key: LeaseKey) -> Option<KillReason> {
        self.attempts().get(&key).and_then(|entry| entry.killed)
    }

    /// Kills the attempt, if it is here.
    pub(crate) fn kill(&self, key: LeaseKey, reason: KillReason) {
        if let Some(entry) = self.attempts().get_mut(&key) {
            entry.kill(reason);
        }
    }

    /// Cancels the attempt, which may be one that this worker is just about to hear of.
    pub(crate) fn cancel(&self, key: LeaseKey) {
        let mut attempts = self.attempts();
        match attempts.get_mut(&key) {
            Some(entry) => entry.kill(KillReason::Cancelled),
            None => {
                self.early().push(key, ());
            }
        }
    }

    /// Resolves when the attempt is to end, with the reason; never when it is not here.
    pub(crate) async fn ending(&self, key: LeaseKey) -> KillReason {
        let stop = self.attempts().get(&key).map(|entry| entry.stop.clone());
        let Some(stop) = stop else { return std::future::pending().await };
        stop.cancelled().await;
        self.killed(key).unwrap_or(KillReason::Shutdown)
    }

    /// Kills every attempt.
    pub(crate) fn kill_all(&self, reason: KillReason) {
        for entry in self.attempts().values_mut() {
            entry.kill(reason);
        }
    }

    /// The leases to renew.
    pub(crate) fn keys(&self) -> Vec<LeaseKey> {
        self.attempts().keys().copied().collect()
    }

    /// Notes that the lease was good for a statement that was sent at `sent`.
    pub(crate) fn confirm(&self, key: LeaseKey, sent: Instant) {
        if let Some(entry) = self.attempts().get_mut(&key) {
            entry.confirmed = entry.confirmed.max(sent);
        }
    }

    /// Kills every attempt whose lease may count as stale by now: `staleness` after the last
    /// statement that proved it was sent. Returns how many were killed.
    ///
    /// The clock is this process's monotonic one, and it starts no later than the database's, so
    /// the guest is dead before anyone else can hold its job.
    pub(crate) fn fence(&self, now: Instant, staleness: Duration) -> usize {
        let mut fenced = 0;
        for entry in self.attempts().values_mut() {
            if entry.killed.is_none() && now.duration_since(entry.confirmed) >= staleness {
                entry.kill(KillReason::LeaseLost);
                fenced += 1;
            }
        }
        fenced
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        *self.count.borrow()
    }

    /// Waits until there is none.
    pub(crate) async fn empty(&self) {
        let mut count = self.count.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = count.wait_for(|count| *count == 0).await;
    }
}

impl Entry {
    fn kill(&mut self, reason: KillReason) {
        if self.killed.is_none() {
            self.killed = Some(reason);
            self.stop.cancel();
            if let Some(kill) = &self.kill {
                kill.kill(reason);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::ids::JobId;
    use uuid::Uuid;

    fn key(run_lease: i64) -> LeaseKey {
        LeaseKey { job: JobId::from_uuid(Uuid::nil()), run_lease }
    }

    #[test]
    fn a_lease_is_fenced_when_it_could_be_stale_and_not_before() {
        let inflight = InFlight::new();
        let start = Instant::now();
        let staleness = Duration::from_secs(90);
        inflight.insert(key(1), start);
        inflight.insert(key(2), start);

        // Given a beat that proved only the second lease half a minute later,
        inflight.confirm(key(2), start + Duration::from_secs(30));

        // when 89 seconds have passed nothing is fenced, and at 90 only the first is.
        assert_eq!(inflight.fence(start + Duration::from_secs(89), staleness), 0);
        assert_eq!(inflight.fence(start + Duration::from_secs(90), staleness), 1);
        assert_eq!(inflight.killed(key(1)), Some(KillReason::LeaseLost));
        assert_eq!(inflight.killed(key(2)), None);
    }

    #[test]
    fn a_late_answer_does_not_shorten_a_lease() {
        let inflight = InFlight::new();
        let start = Instant::now();
        inflight.insert(key(1), start + Duration::from_secs(10));
        inflight.confirm(key(1), start);
        assert_eq!(inflight.fence(start + Duration::from_secs(99), Duration::from_secs(90)), 0);
    }

    #[tokio::test]
    async fn a_cancel_may_come_before_the_answer_to_the_claim() {
        let inflight = InFlight::new();
        inflight.cancel(key(1));
        inflight.insert(key(1), Instant::now());
        inflight.insert(key(2), Instant::now());
        assert_eq!(inflight.ending(key(1)).await, KillReason::Cancelled);
        assert_eq!(inflight.killed(key(2)), None);
    }

    #[tokio::test]
    async fn a_drain_waits_for_the_last_attempt() {
        let inflight = InFlight::new();
        inflight.insert(key(1), Instant::now());
        assert_eq!(inflight.len(), 1);
        inflight.remove(key(1));
        inflight.empty().await;
    }
}
