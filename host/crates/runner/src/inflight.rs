//! The attempts that this worker holds leases for.
//!
//! An attempt is in this table from the moment its claim is known until the database has
//! acknowledged its outcome or refused it. Heartbeats, cancels and drains all work from it.

use crate::moment::Moment;
use cofferdam_core::ids::LeaseKey;
use cofferdam_sandbox::{KillReason, Reins};
use lru::LruCache;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
    /// How long after the statement that last proved a lease its attempt may still run.
    bound: Duration,
}

#[derive(Debug)]
struct Entry {
    /// Set once the guest is on its thread.
    reins: Option<Arc<dyn Reins>>,
    /// Why the attempt is to end, and since when, once somebody wants it to.
    killed: Option<(KillReason, Moment)>,
    /// Tells those who prepare the attempt that it is to end.
    stop: CancellationToken,
    /// Tells who waits for the guest that it does not end, whatever anybody wants.
    given_up: CancellationToken,
    /// When the statement was sent that last proved the lease: the claim or a heartbeat.
    confirmed: Moment,
    /// Whether the guest has ended, and its outcome waits to be written.
    ended: bool,
}

impl InFlight {
    /// `bound`: how long after the statement that last proved a lease its attempt may still run.
    pub(crate) fn new(bound: Duration) -> Self {
        Self {
            attempts: Mutex::new(HashMap::new()),
            early: Mutex::new(LruCache::new(EARLY_CANCELS)),
            count: watch::Sender::new(0),
            bound,
        }
    }

    /// A panic elsewhere must not stop the heartbeats, and every change here is a single step.
    fn attempts(&self) -> MutexGuard<'_, HashMap<LeaseKey, Entry>> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a claim. `sent` is when the claiming statement was sent.
    pub(crate) fn insert(&self, key: LeaseKey, sent: Moment) {
        let mut entry = Entry {
            reins: None,
            killed: None,
            stop: CancellationToken::new(),
            given_up: CancellationToken::new(),
            confirmed: sent,
            ended: false,
        };
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

    /// Until when the attempt may run, as things stand: its guest's thread ends it then by itself.
    pub(crate) fn lease_until(&self, key: LeaseKey) -> Option<Instant> {
        self.attempts().get(&key).map(|entry| entry.confirmed.instant() + self.bound)
    }

    /// Connects the attempt with its guest. A kill that came earlier is carried out now.
    pub(crate) fn started(&self, key: LeaseKey, reins: Arc<dyn Reins>) {
        if let Some(entry) = self.attempts().get_mut(&key) {
            // A heartbeat may have renewed the lease since the attempt was told of it.
            reins.renew_lease(entry.confirmed.instant() + self.bound);
            if let Some((reason, _)) = entry.killed {
                reins.kill(reason);
            }
            entry.reins = Some(reins);
        }
    }

    /// The guest has ended, and its outcome is on its way to the database. The lease is renewed
    /// until it has arrived.
    pub(crate) fn ended(&self, key: LeaseKey) {
        if let Some(entry) = self.attempts().get_mut(&key) {
            entry.ended = true;
            entry.reins = None;
        }
    }

    /// How many outcomes wait to be written.
    pub(crate) fn unwritten(&self) -> usize {
        self.attempts().values().filter(|entry| entry.ended).count()
    }

    /// The reason for which the attempt must not start any more.
    pub(crate) fn killed(&self, key: LeaseKey) -> Option<KillReason> {
        self.attempts().get(&key).and_then(|entry| entry.killed).map(|(reason, _)| reason)
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

    /// Resolves when the attempt was to end and its guest's thread does not come out of a call, so
    /// that there is nothing left to wait for; never when it is not here.
    pub(crate) async fn given_up(&self, key: LeaseKey) {
        let given_up = self.attempts().get(&key).map(|entry| entry.given_up.clone());
        match given_up {
            Some(given_up) => given_up.cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// Kills every attempt.
    pub(crate) fn kill_all(&self, reason: KillReason) {
        for entry in self.attempts().values_mut() {
            entry.kill(reason);
        }
    }

    /// The leases to renew: those of attempts that get on. A guest whose thread has been inside one
    /// call for `stall` is not alive, whatever its process is, and its lease is left to age.
    pub(crate) fn keys(&self, stall: Duration) -> Vec<LeaseKey> {
        let attempts = self.attempts();
        let moving = attempts.iter().filter(|(_, entry)| entry.stuck_for() < stall);
        moving.map(|(key, _)| *key).collect()
    }

    /// Notes that the lease was good for a statement that was sent at `sent`.
    pub(crate) fn confirm(&self, key: LeaseKey, sent: Moment) {
        if let Some(entry) = self.attempts().get_mut(&key) {
            entry.confirmed = entry.confirmed.max(sent);
            if let Some(reins) = &entry.reins {
                reins.renew_lease(entry.confirmed.instant() + self.bound);
            }
        }
    }

    /// Kills every attempt whose lease may count as stale by now, and returns how many.
    ///
    /// The clock is this process's own, and it starts no later than the database's, so the guest is
    /// dead before anyone else can hold its job. Guests on their threads end by themselves at the
    /// same time; this ends those that are not there yet, and those of a machine that slept.
    pub(crate) fn fence(&self, now: Moment) -> usize {
        let mut fenced = 0;
        for entry in self.attempts().values_mut() {
            if entry.killed.is_none() && now.since(entry.confirmed) >= self.bound {
                entry.kill(KillReason::LeaseLost);
                fenced += 1;
            }
        }
        fenced
    }

    /// Gives up on attempts that were to end `stall` ago and whose threads have not moved since.
    /// Returns how many there are now that nobody waits for any more.
    pub(crate) fn give_up(&self, now: Moment, stall: Duration) -> usize {
        let mut given_up = 0;
        for entry in self.attempts().values() {
            let overdue = entry.killed.is_some_and(|(_, since)| now.since(since) >= stall);
            if overdue && entry.stuck_for() >= stall && !entry.given_up.is_cancelled() {
                entry.given_up.cancel();
                given_up += 1;
            }
        }
        given_up
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
            self.killed = Some((reason, Moment::now()));
            self.stop.cancel();
            if let Some(reins) = &self.reins {
                reins.kill(reason);
            }
        }
    }

    /// How long the guest's thread has been inside one call; zero while there is no guest.
    fn stuck_for(&self) -> Duration {
        self.reins.as_ref().map_or(Duration::ZERO, |reins| reins.stuck_for())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::ids::JobId;
    use uuid::Uuid;

    const STALENESS: Duration = Duration::from_secs(90);

    fn key(run_lease: i64) -> LeaseKey {
        LeaseKey { job: JobId::from_uuid(Uuid::nil()), run_lease }
    }

    fn after(start: Moment, seconds: u64) -> Moment {
        start.at(start.instant() + Duration::from_secs(seconds))
    }

    /// A guest whose thread is inside a call.
    #[derive(Debug, Default)]
    struct Stuck(Mutex<Vec<KillReason>>);

    impl Reins for Stuck {
        fn kill(&self, reason: KillReason) {
            self.0.lock().unwrap().push(reason);
        }

        fn renew_lease(&self, _: Instant) {}

        fn stuck_for(&self) -> Duration {
            Duration::from_secs(11)
        }
    }

    #[test]
    fn a_lease_is_fenced_when_it_could_be_stale_and_not_before() {
        let inflight = InFlight::new(STALENESS);
        let start = Moment::now();
        inflight.insert(key(1), start);
        inflight.insert(key(2), start);

        // Given a beat that proved only the second lease half a minute later,
        inflight.confirm(key(2), after(start, 30));

        // when 89 seconds have passed nothing is fenced, and at 90 only the first is.
        assert_eq!(inflight.fence(after(start, 89)), 0);
        assert_eq!(inflight.fence(after(start, 90)), 1);
        assert_eq!(inflight.killed(key(1)), Some(KillReason::LeaseLost));
        assert_eq!(inflight.killed(key(2)), None);
    }

    #[test]
    fn a_late_answer_does_not_shorten_a_lease() {
        let inflight = InFlight::new(STALENESS);
        let start = Moment::now();
        inflight.insert(key(1), after(start, 10));
        inflight.confirm(key(1), start);
        assert_eq!(inflight.fence(after(start, 99)), 0);
        assert_eq!(inflight.lease_until(key(1)), Some(after(start, 100).instant()));
    }

    /// S7: liveness is progress of the attempt, not of its process.
    #[tokio::test]
    async fn an_attempt_that_does_not_get_on_is_not_beaten_and_given_up_once_it_was_killed() {
        // Given two attempts, one of which is inside a call for eleven seconds,
        let inflight = InFlight::new(STALENESS);
        let start = Moment::now();
        let stuck = Arc::new(Stuck::default());
        inflight.insert(key(1), start);
        inflight.insert(key(2), start);
        inflight.started(key(1), stuck.clone());

        // then only the other one is beaten, where ten are too many,
        let stall = Duration::from_secs(10);
        assert_eq!(inflight.keys(stall), [key(2)]);
        assert_eq!(inflight.keys(Duration::from_secs(12)).len(), 2);

        // and once the first was told to end and did not for as long, nobody waits for it.
        assert_eq!(inflight.give_up(after(start, 60), stall), 0);
        inflight.kill(key(1), KillReason::Shutdown);
        let killed = Moment::now();
        assert_eq!(inflight.give_up(after(killed, 9), stall), 0);
        assert_eq!(inflight.give_up(after(killed, 10), stall), 1);
        inflight.given_up(key(1)).await;
        assert_eq!(*stuck.0.lock().unwrap(), [KillReason::Shutdown]);
    }

    #[tokio::test]
    async fn a_cancel_may_come_before_the_answer_to_the_claim() {
        let inflight = InFlight::new(STALENESS);
        inflight.cancel(key(1));
        inflight.insert(key(1), Moment::now());
        inflight.insert(key(2), Moment::now());
        assert_eq!(inflight.ending(key(1)).await, KillReason::Cancelled);
        assert_eq!(inflight.killed(key(2)), None);
    }

    #[tokio::test]
    async fn a_drain_waits_for_the_last_attempt() {
        let inflight = InFlight::new(STALENESS);
        inflight.insert(key(1), Moment::now());
        assert_eq!(inflight.len(), 1);
        inflight.remove(key(1));
        inflight.empty().await;
    }
}
