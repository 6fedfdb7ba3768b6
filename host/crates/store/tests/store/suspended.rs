//! Jobs that wait for something outside.

use crate::support::{House, TENANT, USAGE, module, version_name, worker};
use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::{RetryPolicy, fail_attempt};
use cofferdam_core::ids::LeaseKey;
use cofferdam_core::outcome::{Failure, RetryAdvice};
use cofferdam_core::state::JobState;
use cofferdam_core::wait::{CallbackHash, CallbackToken, Resumption};
use cofferdam_store::{Cancel, Claimed, Finish, FinishEnd, StoreError};
use std::time::Duration;

const HOUR: Duration = Duration::from_hours(1);

fn token(bits: u8) -> CallbackHash {
    CallbackToken::from_bits([bits; 32]).hash()
}

/// The end of an attempt that puts its job aside.
fn waits(claimed: &Claimed, callback: Option<CallbackHash>) -> FinishEnd {
    let advice = RetryAdvice::Wait(HOUR);
    let class = FailureClass::Snoozed;
    let mut failure = Failure::new(class, "suspended", "the job waits");
    failure.advice = advice;
    failure.callback = callback.map(Box::new);
    let policy = RetryPolicy::default();
    let verdict = fail_attempt(class, advice, claimed.counters, &policy, 0.5);
    FinishEnd::Failed { failure, verdict }
}

impl House {
    /// A job that waits for a callback, or for the time alone.
    async fn suspended(&self, callback: Option<CallbackHash>) -> LeaseKey {
        let id = self.enqueue(self.job()).await;
        let me = worker();
        let claimed = self.claim_again(me, id).await;
        assert_eq!(claimed.resumed, None);
        let now = self.finish(me, claimed.key, waits(&claimed, callback)).await;
        assert_eq!(now, Some(JobState::Suspended));
        claimed.key
    }

    /// Lets every wait be over.
    async fn let_waits_end(&self) {
        self.execute("UPDATE suspended SET timeout_at = timeout_at - INTERVAL '1 day'").await;
    }
}

/// S39: the wait holds no lease, so no slot, and the answer comes with the next claim.
#[tokio::test]
async fn a_callback_brings_a_waiting_job_back_once() {
    // Given a job that waits for a callback, with a checkpoint,
    let house = House::new().await;
    let id = house.enqueue(house.job()).await;
    let me = worker();
    let first = house.claim_again(me, id).await;
    assert!(house.store.checkpoint(first.key, b"half way").await.unwrap());
    let end = waits(&first, Some(token(1)));
    assert_eq!(house.finish(me, first.key, end).await, Some(JobState::Suspended));

    // then nothing runs and nothing can be claimed,
    assert_eq!(house.db.count("leases").await, 0);
    assert!(house.claim(me, 1).await.is_empty());
    // another callback is nobody's,
    assert_eq!(house.store.call_back(token(2), b"no").await.unwrap(), None);

    // and when its own comes, then it is claimable, and knows what was said,
    assert_eq!(house.store.call_back(token(1), b"yes").await.unwrap(), Some(id));
    assert_eq!(house.store.call_back(token(1), b"again").await.unwrap(), None);
    let second = house.claim_again(me, id).await;
    assert_eq!(second.resumed, Some(Resumption::CalledBack(b"yes".to_vec())));
    assert_eq!(second.checkpoint.as_deref(), Some(b"half way".as_slice()));
    // with nothing counted against it.
    assert_eq!(second.counters, first.counters);
    assert_eq!(second.key.run_lease, first.key.run_lease + 1);
    house.assert_one_place().await;
}

/// S39.
#[tokio::test]
async fn a_wait_that_is_over_is_told_from_one_that_was_answered() {
    // Given three jobs: one was answered with nothing, the wait of one is over, one sleeps on,
    let house = House::new().await;
    let answered = house.suspended(Some(token(1))).await;
    let over = house.suspended(Some(token(2))).await;
    house.let_waits_end().await;
    let asleep = house.suspended(None).await;
    house.store.call_back(token(1), b"").await.unwrap();

    // when the sweep comes,
    assert_eq!(house.store.time_out_waits(10).await.unwrap(), 1);

    // then the first two run again, each told what happened,
    let claimed = house.claim(worker(), 10).await;
    let told = |key: LeaseKey| {
        let claimed = claimed.iter().find(|claimed| claimed.key.job == key.job);
        claimed.and_then(|claimed| claimed.resumed.clone())
    };
    assert_eq!(told(answered), Some(Resumption::CalledBack(Vec::new())));
    assert_eq!(told(over), Some(Resumption::TimedOut));
    // the last one waits on, and a callback of the second is too late.
    assert_eq!(house.state(asleep.job).await, JobState::Suspended);
    assert_eq!(house.store.call_back(token(2), b"late").await.unwrap(), None);
    house.assert_one_place().await;
}

#[tokio::test]
async fn a_job_that_waits_again_is_told_of_the_last_wait_only() {
    let house = House::new().await;
    let key = house.suspended(Some(token(1))).await;
    house.store.call_back(token(1), b"first").await.unwrap();
    let me = worker();
    let claimed = house.claim_again(me, key.job).await;
    house.finish(me, claimed.key, waits(&claimed, None)).await;
    house.let_waits_end().await;
    assert_eq!(house.store.time_out_waits(10).await.unwrap(), 1);
    let claimed = house.claim_again(me, key.job).await;
    assert_eq!(claimed.resumed, Some(Resumption::TimedOut));
}

/// The sweep works in batches, oldest first, and each job keeps the place of its due time.
#[tokio::test]
async fn waits_end_in_batches() {
    let house = House::new().await;
    for _ in 0..5 {
        house.suspended(None).await;
    }
    house.let_waits_end().await;
    let mut batches = Vec::new();
    for _ in 0..3 {
        batches.push(house.store.time_out_waits(2).await.unwrap());
    }
    assert_eq!(batches, [2, 2, 1]);
    house.assert_one_place().await;
}

/// S12: nothing that an old attempt says counts.
#[tokio::test]
async fn an_attempt_that_lost_its_lease_puts_nothing_aside() {
    let house = House::new().await;
    let id = house.enqueue(house.job()).await;
    let me = worker();
    let claimed = house.claim_again(me, id).await;
    house.execute("UPDATE leases SET run_lease = run_lease + 1").await;
    assert_eq!(house.finish(me, claimed.key, waits(&claimed, Some(token(1)))).await, None);
    assert_eq!(house.state(id).await, JobState::Running);
    assert_eq!(house.store.call_back(token(1), b"yes").await.unwrap(), None);
}

/// S47: a cancel reaches jobs that wait, and wins over a wait that comes after it.
#[tokio::test]
async fn a_job_that_waits_is_shown_needed_and_can_be_cancelled() {
    // Given a job that waits, and one that is about to although it was cancelled,
    let house = House::new().await;
    let waiting = house.suspended(Some(token(1))).await;
    let version = house.store.delete_version(TENANT, &module("images"), &version_name("1")).await;
    assert!(matches!(version, Err(StoreError::InUse { .. })));
    let shown = house.detail(waiting.job).await;
    assert_eq!(shown.state, JobState::Suspended);
    let id = house.enqueue(house.job()).await;
    let me = worker();
    let claimed = house.claim_again(me, id).await;
    assert_eq!(house.store.cancel(TENANT, id).await.unwrap(), Cancel::Requested);

    // when the first is cancelled and the second puts itself aside,
    assert_eq!(house.store.cancel(TENANT, waiting.job).await.unwrap(), Cancel::Cancelled);
    let end = house.finish(me, claimed.key, waits(&claimed, Some(token(2)))).await;

    // then both are cancelled, and nobody can call them back.
    assert_eq!(end, Some(JobState::Cancelled));
    for hash in [token(1), token(2)] {
        assert_eq!(house.store.call_back(hash, b"yes").await.unwrap(), None);
    }
    house.assert_one_place().await;
}

/// Of those who end a wait at the same moment, exactly one does.
#[tokio::test]
async fn callback_sweep_and_cancel_race_and_one_wins() {
    let house = House::new().await;
    for round in 0..20 {
        let key = house.suspended(Some(token(round))).await;
        house.let_waits_end().await;
        let (called, swept, cancelled) = tokio::join!(
            house.store.call_back(token(round), b"yes"),
            house.store.time_out_waits(10),
            house.store.cancel(TENANT, key.job),
        );
        let woken = usize::from(called.unwrap().is_some()) + swept.unwrap();
        // A cancel that comes second finds a job that is available, and cancels that.
        assert_eq!(cancelled.unwrap(), Cancel::Cancelled);
        assert!(woken <= 1, "round {round}: {woken} woke it");
        assert_eq!(house.state(key.job).await, JobState::Cancelled);
        house.assert_one_place().await;
    }
}

/// A guest that broke out of its process could name a hash that is not its own.
#[tokio::test]
async fn two_jobs_cannot_wait_for_one_callback() {
    // Given a job that waits, and a batch with one that claims the same callback,
    let house = House::new().await;
    let honest = house.suspended(Some(token(1))).await;
    house.enqueue_all(&house.jobs(2)).await;
    let me = worker();
    let claimed = house.claim(me, 2).await;
    let finish = |claimed: &Claimed, callback| Finish {
        key: claimed.key,
        end: waits(claimed, Some(callback)),
        usage: USAGE,
    };
    let batch = [finish(&claimed[0], token(1)), finish(&claimed[1], token(2))];

    // when the batch is written, then the other outcome counts, and the lease of the thief is left
    // to rescue,
    let finished = house.store.finish(me, &batch).await.unwrap();
    assert_eq!(finished[0].applied, None);
    assert_eq!(finished[1].applied, Some(JobState::Suspended));
    assert_eq!(house.state(claimed[0].key.job).await, JobState::Running);
    // and the callback reaches the one that waited first.
    assert_eq!(house.store.call_back(token(1), b"yes").await.unwrap(), Some(honest.job));
}
