//! Cancelling jobs and bringing them back.

use crate::support::{House, TENANT, USAGE, at_once, completed, failed, version, worker};
use chrono::TimeDelta;
use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::RetryPolicy;
use cofferdam_core::ids::{JobId, TenantId};
use cofferdam_core::state::JobState;
use cofferdam_store::{Cancel, Finish, Revive};
use uuid::Uuid;

#[tokio::test]
async fn a_waiting_job_is_cancelled_at_once_wherever_it_waits() {
    let house = House::new().await;
    let me = worker();
    // Retryable,
    let retryable = house.enqueue(house.job()).await;
    let claimed = house.claim_again(me, retryable).await;
    let end = failed(FailureClass::Error, &claimed, &RetryPolicy::default());
    assert_eq!(house.finish(me, claimed.key, end).await, Some(JobState::Retryable));
    // available,
    let available = house.enqueue(house.job()).await;
    // scheduled.
    let mut job = house.job();
    job.run_at = Some(house.store.now().await.unwrap() + TimeDelta::hours(1));
    let scheduled = house.enqueue(job).await;

    for id in [retryable, available, scheduled] {
        assert_eq!(house.store.cancel(TENANT, id).await.unwrap(), Cancel::Cancelled);
        let detail = house.detail(id).await;
        assert_eq!(detail.state, JobState::Cancelled);
        assert_eq!(detail.cause.as_deref(), Some("user"));
        let again = house.store.cancel(TENANT, id).await.unwrap();
        assert_eq!(again, Cancel::AlreadyEnded(JobState::Cancelled));
    }
    assert!(house.claim(me, 10).await.is_empty());
    house.assert_one_place().await;
}

#[tokio::test]
async fn a_running_job_ends_as_cancelled_whatever_its_attempt_comes_to() {
    let house = House::new().await;
    let me = worker();
    house.enqueue_all(&house.jobs(4)).await;
    let claimed = house.claim(me, 4).await;
    let ends = [
        completed(),
        failed(FailureClass::Error, &claimed[1], &RetryPolicy::default()),
        failed(FailureClass::Permanent, &claimed[2], &at_once()),
        failed(FailureClass::Cancelled, &claimed[3], &at_once()),
    ];
    for job in &claimed {
        for _ in 0..2 {
            let told = house.store.cancel(TENANT, job.key.job).await.unwrap();
            assert_eq!(told, Cancel::Requested);
        }
        let detail = house.detail(job.key.job).await;
        assert_eq!(detail.state, JobState::Running);
        assert!(detail.cancel_requested_at.is_some());
    }

    let batch: Vec<_> = claimed
        .iter()
        .zip(ends)
        .map(|(job, end)| Finish { key: job.key, end, usage: USAGE })
        .collect();
    for finished in house.store.finish(me, &batch).await.unwrap() {
        assert_eq!(finished.applied, Some(JobState::Cancelled));
        assert_eq!(house.store.job_output(TENANT, finished.key.job).await.unwrap(), None);
        assert_eq!(house.detail(finished.key.job).await.errors.len(), 1);
    }
    house.assert_one_place().await;
}

#[tokio::test]
async fn what_has_ended_or_is_not_ours_is_not_cancelled() {
    let house = House::new().await;
    let me = worker();
    let key = house.running(me).await;
    house.finish(me, key, completed()).await;
    let told = house.store.cancel(TENANT, key.job).await.unwrap();
    assert_eq!(told, Cancel::AlreadyEnded(JobState::Completed));

    let nobody = JobId::from_uuid(Uuid::nil());
    assert_eq!(house.store.cancel(TENANT, nobody).await.unwrap(), Cancel::NotFound);
    let other = TenantId::from_uuid(Uuid::from_u128(99));
    let theirs = house.running(me).await;
    assert_eq!(house.store.cancel(other, theirs.job).await.unwrap(), Cancel::NotFound);
    assert!(house.detail(theirs.job).await.cancel_requested_at.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn when_claim_and_cancel_race_exactly_one_wins() {
    let house = House::new().await;
    let me = worker();
    let (mut cancelled, mut requested) = (0, 0);
    for _ in 0..150 {
        let id = house.enqueue(house.job()).await;
        let (claimed, told) = tokio::join!(house.claim(me, 1), house.store.cancel(TENANT, id));
        match told.unwrap() {
            Cancel::Cancelled => {
                assert!(claimed.is_empty());
                cancelled += 1;
            }
            Cancel::Requested => {
                let [job] = claimed.as_slice() else { panic!("it was claimed") };
                assert_eq!(house.finish(me, job.key, completed()).await, Some(JobState::Cancelled));
                requested += 1;
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(house.state(id).await, JobState::Cancelled);
    }
    assert_eq!(cancelled + requested, 150);
    house.assert_one_place().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_finish_and_cancel_race_the_job_ends_once() {
    let house = House::new().await;
    let me = worker();
    for _ in 0..100 {
        let key = house.running(me).await;
        let finish = house.finish(me, key, completed());
        let (state, told) = tokio::join!(finish, house.store.cancel(TENANT, key.job));
        let expected = match told.unwrap() {
            Cancel::Requested => JobState::Cancelled,
            Cancel::AlreadyEnded(JobState::Completed) => JobState::Completed,
            other => panic!("{other:?}"),
        };
        assert_eq!(state, Some(expected));
        assert_eq!(house.state(key.job).await, expected);
    }
    house.assert_one_place().await;
}

#[tokio::test]
async fn a_dead_job_comes_back_with_new_budgets_and_its_old_history() {
    // Given a job that used up its attempts,
    let house = House::new().await;
    let me = worker();
    let id = house.enqueue(house.job()).await;
    let policy = RetryPolicy { max_attempts: 2, ..at_once() };
    for _ in 0..2 {
        let claimed = house.claim_again(me, id).await;
        house.finish(me, claimed.key, failed(FailureClass::Error, &claimed, &policy)).await;
    }
    assert_eq!(house.state(id).await, JobState::Dead);

    // when an operator brings it back on another version,
    let second = house.store.publish(&version("images", "mended")).await.unwrap();
    let revived = house.store.revive(TENANT, id, Some(second.version)).await.unwrap();
    assert_eq!(revived, Revive::Revived);

    // then it starts anew, with a lease that no old attempt had, and remembers its failures.
    let detail = house.detail(id).await;
    assert_eq!((detail.state, detail.counters.attempts), (JobState::Available, 0));
    assert_eq!(detail.errors.len(), 2);
    let claimed = house.claim_again(me, id).await;
    assert_eq!((claimed.key.run_lease, claimed.version), (3, Some(second.version)));
    assert_eq!(claimed.payload, b"input");

    // And when it fails again, the dead letter has the whole story.
    house.finish(me, claimed.key, failed(FailureClass::Permanent, &claimed, &policy)).await;
    let letter = house.store.dlq_show(TENANT, id).await.unwrap().unwrap();
    assert_eq!(letter.errors.len(), 3);
    house.assert_one_place().await;
}

#[tokio::test]
async fn a_cancelled_job_comes_back_and_one_that_ended_well_does_not() {
    let house = House::new().await;
    let me = worker();
    let cancelled = house.enqueue(house.job()).await;
    house.store.cancel(TENANT, cancelled).await.unwrap();
    assert_eq!(house.store.revive(TENANT, cancelled, None).await.unwrap(), Revive::Revived);
    let claimed = house.claim_again(me, cancelled).await;
    let told = house.store.revive(TENANT, cancelled, None).await.unwrap();
    assert_eq!(told, Revive::NotPossible(JobState::Running));

    house.finish(me, claimed.key, completed()).await;
    let told = house.store.revive(TENANT, cancelled, None).await.unwrap();
    assert_eq!(told, Revive::NotPossible(JobState::Completed));
    let nobody = JobId::from_uuid(Uuid::nil());
    assert_eq!(house.store.revive(TENANT, nobody, None).await.unwrap(), Revive::NotFound);
    house.assert_one_place().await;
}

#[tokio::test]
async fn a_job_is_not_revived_on_a_version_of_another_module() {
    let house = House::new().await;
    let id = house.enqueue(house.job()).await;
    house.store.cancel(TENANT, id).await.unwrap();
    let other = house.store.publish(&version("sounds", "other")).await.unwrap();

    let told = house.store.revive(TENANT, id, Some(other.version)).await.unwrap();

    assert_eq!(told, Revive::NoSuchVersion);
    assert_eq!(house.state(id).await, JobState::Cancelled);
}
