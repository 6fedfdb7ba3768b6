//! Outcomes.

use crate::support::{House, TENANT, USAGE, at_once, completed, failed, worker};
use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::{RetryPolicy, fail_attempt};
use cofferdam_core::history::{MAX_BACKTRACE, MAX_MESSAGE};
use cofferdam_core::ids::LeaseKey;
use cofferdam_core::outcome::{Failure, RetryAdvice};
use cofferdam_core::state::JobState;
use cofferdam_store::{Finish, FinishEnd, RescueKind};
use std::time::Duration;

#[tokio::test]
async fn a_completed_job_keeps_its_output_and_usage_and_leaves_no_attempt() {
    let house = House::new().await;
    let me = worker();
    let key = house.running(me).await;

    let output = b"\0 any bytes \xff".to_vec();
    let state = house.finish(me, key, FinishEnd::Completed(output.clone())).await;

    assert_eq!(state, Some(JobState::Completed));
    assert_eq!(house.store.job_output(TENANT, key.job).await.unwrap(), Some(output));
    let detail = house.detail(key.job).await;
    assert_eq!(detail.usage, Some(USAGE));
    assert_eq!(detail.worker, Some(me));
    assert_eq!(detail.version.unwrap().id, house.images.version);
    assert!(detail.finished_at >= detail.started_at);
    assert!(detail.errors.is_empty());
    assert_eq!(house.db.count("attempts").await, 0);
    house.assert_one_place().await;
}

#[tokio::test]
async fn every_failure_class_ends_where_its_verdict_says() {
    let house = House::new().await;
    let me = worker();
    for class in FailureClass::ALL {
        for policy in [RetryPolicy::default(), RetryPolicy { max_attempts: 1, ..at_once() }] {
            let key = house.running(me).await;
            let claimed_counters = cofferdam_core::fail::Counters::default();
            let verdict = fail_attempt(class, RetryAdvice::Default, claimed_counters, &policy, 0.5);
            let failure = Failure::new(class, "code", "message");

            let end = FinishEnd::Failed { failure, verdict };
            assert_eq!(house.finish(me, key, end).await, Some(verdict.state), "{class}");

            let detail = house.detail(key.job).await;
            assert_eq!(detail.state, verdict.state, "{class}");
            assert_eq!(detail.counters, verdict.counters, "{class}");
            let recorded = !matches!(class, FailureClass::Released | FailureClass::Snoozed);
            assert_eq!(detail.errors.len(), usize::from(recorded), "{class}");
            if matches!(verdict.state, JobState::Retryable | JobState::Scheduled) {
                let since = detail.errors.first().map_or(detail.created_at, |error| error.at);
                let wait = (detail.run_at - since).to_std().unwrap();
                assert!(wait >= verdict.delay, "{class}: {wait:?}");
            }
            house.execute("DELETE FROM ready").await;
            house.execute("DELETE FROM jobs WHERE id NOT IN (SELECT job_id FROM job_state)").await;
        }
    }
    house.assert_one_place().await;
}

#[tokio::test]
async fn a_late_outcome_of_an_old_lease_changes_nothing() {
    // Given a job that was taken from one worker and runs on another,
    let house = House::new().await;
    let (slow, fast) = (worker(), worker());
    let old = house.running(slow).await;
    let stale = RescueKind::Heartbeat { staleness: Duration::ZERO };
    assert_eq!(house.rescue(stale, 10, FailureClass::Lost).await, 1);
    let new = house.claim_again(fast, old.job).await;

    // when the first one is heard of again, in whatever way,
    assert_eq!(house.finish(slow, old, completed()).await, None);
    let failure = failed(FailureClass::Permanent, &new, &at_once());
    assert_eq!(house.finish(slow, old, failure).await, None);
    // or it, or anyone, names the new lease without holding it,
    assert_eq!(house.finish(slow, new.key, completed()).await, None);

    // then the job still runs, and ends as its holder says.
    assert_eq!(house.state(old.job).await, JobState::Running);
    let end = FinishEnd::Completed(b"the holder's".to_vec());
    assert_eq!(house.finish(fast, new.key, end).await, Some(JobState::Completed));
    assert_eq!(house.finish(fast, new.key, completed()).await, None, "only once");
    let output = house.store.job_output(TENANT, old.job).await.unwrap();
    assert_eq!(output.as_deref(), Some(&b"the holder's"[..]));
    house.assert_one_place().await;
}

#[tokio::test]
async fn a_batch_of_mixed_ends_is_answered_one_by_one() {
    let house = House::new().await;
    let me = worker();
    house.enqueue_all(&house.jobs(4)).await;
    let claimed = house.claim(me, 4).await;
    let lost = LeaseKey { run_lease: 99, ..claimed[3].key };
    let batch: Vec<_> = [
        (claimed[0].key, completed()),
        (claimed[1].key, failed(FailureClass::Error, &claimed[1], &RetryPolicy::default())),
        (claimed[2].key, failed(FailureClass::Permanent, &claimed[2], &at_once())),
        (lost, completed()),
    ]
    .map(|(key, end)| Finish { key, end, usage: USAGE })
    .to_vec();

    let finished = house.store.finish(me, &batch).await.unwrap();

    let states: Vec<_> = finished.iter().map(|finished| finished.applied).collect();
    assert_eq!(
        states,
        [Some(JobState::Completed), Some(JobState::Retryable), Some(JobState::Failed), None]
    );
    assert_eq!(house.state(claimed[3].key.job).await, JobState::Running);
    house.assert_one_place().await;
}

#[tokio::test]
async fn a_job_that_succeeds_at_last_tells_how_it_came_to_it() {
    let house = House::new().await;
    let me = worker();
    let id = house.enqueue(house.job()).await;
    let first = house.claim_again(me, id).await;
    house.finish(me, first.key, failed(FailureClass::Trap, &first, &at_once())).await;
    let second = house.claim_again(me, id).await;
    house.finish(me, second.key, completed()).await;

    let detail = house.detail(id).await;
    assert_eq!(detail.state, JobState::Completed);
    assert_eq!(detail.counters.attempts, 1);
    let [error] = detail.errors.as_slice() else { panic!("{:?}", detail.errors) };
    assert_eq!((error.attempt, error.run_lease, error.class), (1, 1, FailureClass::Trap));
    assert_eq!((error.worker, error.message.as_str()), (Some(me), "it was trap"));
    assert_eq!(house.db.count("attempts").await, 2, "the success after a failure is one, too");
}

#[tokio::test]
async fn what_guests_write_cannot_stop_a_batch() {
    let house = House::new().await;
    let me = worker();
    house.enqueue_all(&house.jobs(2)).await;
    let claimed = house.claim(me, 2).await;
    let mut nasty = failed(FailureClass::Permanent, &claimed[0], &at_once());
    if let FinishEnd::Failed { failure, .. } = &mut nasty {
        failure.code = "\0".repeat(1000);
        failure.message = "\0é".repeat(100_000);
        failure.backtrace = "frame\0\n".repeat(100_000);
    }
    let batch = [
        Finish { key: claimed[0].key, end: nasty, usage: USAGE },
        Finish { key: claimed[1].key, end: completed(), usage: USAGE },
    ];

    let finished = house.store.finish(me, &batch).await.unwrap();

    assert!(finished.iter().all(|finished| finished.applied.is_some()));
    let error = &house.detail(claimed[0].key.job).await.errors[0];
    assert!(error.message.starts_with('\u{fffd}') && error.message.len() <= MAX_MESSAGE);
    assert!(error.backtrace.len() <= MAX_BACKTRACE);
    house.assert_one_place().await;
}

#[tokio::test]
async fn an_outcome_that_the_database_refuses_does_not_take_others_with_it() {
    // Given five outcomes, of which the database refuses one,
    let house = House::new().await;
    let me = worker();
    house.enqueue_all(&house.jobs(5)).await;
    let claimed = house.claim(me, 5).await;
    let bad = claimed[2].key;
    house
        .execute(&format!("ALTER TABLE ended ADD CONSTRAINT spite CHECK (job_id <> '{}')", bad.job))
        .await;
    let finish = |key| Finish { key, end: completed(), usage: USAGE };
    let batch: Vec<_> = claimed.iter().map(|job| finish(job.key)).collect();

    // when they are written together,
    let finished = house.store.finish(me, &batch).await.unwrap();

    // then four are applied, and the lease of the fifth is left to rescue.
    for outcome in finished {
        let expected = (outcome.key != bad).then_some(JobState::Completed);
        assert_eq!(outcome.applied, expected, "{}", outcome.key);
    }
    assert_eq!(house.state(bad.job).await, JobState::Running);
    house.assert_one_place().await;
}
