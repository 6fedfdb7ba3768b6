//! Versions whose guests kill the processes that they run in.

use crate::support::{House, TENANT, module, request, version, version_name, worker};
use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::{RetryPolicy, fail_attempt};
use cofferdam_core::history::PROCESS_DIED;
use cofferdam_core::ids::{JobId, WorkerId};
use cofferdam_core::outcome::{Failure, RetryAdvice};
use cofferdam_core::state::JobState;
use cofferdam_store::{Cancel, ClaimCursor, Claimed, Finish, FinishEnd, StoreError, VersionDetail};

/// An attempt that took its process with it.
fn death(claimed: &Claimed) -> Finish {
    let class = FailureClass::Lost;
    let failure = Failure::new(class, PROCESS_DIED, "the process of the attempt died");
    let policy = RetryPolicy { max_crashes: 100, ..RetryPolicy::default() };
    let verdict = fail_attempt(class, RetryAdvice::Default, claimed.counters, &policy, 0.5);
    let end = FinishEnd::Failed { failure, verdict };
    Finish { key: claimed.key, end, usage: crate::support::USAGE }
}

async fn kill(house: &House, worker: WorkerId, job: JobId) {
    let claimed = house.claim_again(worker, job).await;
    let finished = house.store.finish(worker, &[death(&claimed)]).await.unwrap();
    assert_eq!(finished[0].applied, Some(JobState::Available));
}

async fn first_version(house: &House) -> VersionDetail {
    let module = house.store.module(TENANT, &module("images")).await.unwrap().unwrap();
    module.version(&version_name("1")).unwrap().clone()
}

async fn lift(house: &House) -> bool {
    let lifted = house.store.lift_version(TENANT, &module("images"), &version_name("1")).await;
    lifted.unwrap()
}

/// Puts the first version into quarantine, as three deaths would.
async fn condemn(house: &House) {
    house
        .execute(&format!(
            "UPDATE module_versions SET quarantined_at = now(), quarantine_reason = 'test' \
             WHERE id = '{}'",
            house.images.version
        ))
        .await;
}

/// S74: three jobs that kill their process are proof against their version, one job is not.
#[tokio::test]
async fn three_jobs_that_kill_their_process_put_their_version_into_quarantine() {
    let house = House::new().await;
    let me = worker();
    let first = house.enqueue(house.job()).await;
    for _ in 0..5 {
        kill(&house, me, first).await;
    }
    house.store.cancel(TENANT, first).await.unwrap();
    let second = house.enqueue(house.job()).await;
    kill(&house, me, second).await;
    house.store.cancel(TENANT, second).await.unwrap();
    assert!(first_version(&house).await.quarantined_at.is_none(), "two jobs are no proof");

    let third = house.enqueue(house.job()).await;
    kill(&house, me, third).await;

    let condemned = first_version(&house).await;
    assert!(condemned.quarantined_at.is_some());
    assert_eq!(
        condemned.quarantine_reason.as_deref(),
        Some("3 jobs killed the process that ran them within 60 minutes")
    );
    assert!(house.claim(me, 10).await.is_empty());
    let waiting = house.detail(third).await;
    assert_eq!(waiting.state, JobState::Available);
    assert_eq!(waiting.reason.as_deref(), Some("quarantined"), "whoever asks is told why it waits");
    assert_eq!(house.db.count("held").await, 1);
    house.assert_one_place().await;
}

#[tokio::test]
async fn what_is_older_than_an_hour_or_was_forgiven_is_no_evidence() {
    let house = House::new().await;
    let me = worker();
    let mut killers = Vec::new();
    for _ in 0..2 {
        let id = house.enqueue(house.job()).await;
        kill(&house, me, id).await;
        house.store.cancel(TENANT, id).await.unwrap();
        killers.push(id);
    }

    // An hour later, one more is one of one.
    house.execute("UPDATE process_deaths SET died_at = now() - INTERVAL '61 minutes'").await;
    let id = house.enqueue(house.job()).await;
    kill(&house, me, id).await;
    assert!(first_version(&house).await.quarantined_at.is_none());

    // Within the hour it is the third.
    house.execute("UPDATE process_deaths SET died_at = now() - INTERVAL '59 minutes'").await;
    kill(&house, me, id).await;
    assert!(first_version(&house).await.quarantined_at.is_some());

    // An operator who lifts it wipes the slate.
    assert!(lift(&house).await);
    assert!(!lift(&house).await, "it was in quarantine no more");
    kill(&house, me, id).await;
    assert!(first_version(&house).await.quarantined_at.is_none());
}

/// A lost lease only says that a worker went away: it may have been a neighbour of the killer.
#[tokio::test]
async fn a_lost_lease_is_no_evidence_and_nor_is_a_stale_outcome() {
    let house = House::new().await;
    let me = worker();
    house.enqueue_all(&house.jobs(4)).await;
    let claimed = house.claim(me, 4).await;
    let lost = claimed.iter().map(|job| {
        let end = crate::support::failed(FailureClass::Lost, job, &RetryPolicy::default());
        Finish { key: job.key, end, usage: crate::support::USAGE }
    });
    house.store.finish(me, &lost.collect::<Vec<_>>()).await.unwrap();
    let stale: Vec<_> = claimed.iter().map(death).collect();
    for finished in house.store.finish(me, &stale).await.unwrap() {
        assert_eq!(finished.applied, None);
    }
    assert!(first_version(&house).await.quarantined_at.is_none());
    assert_eq!(house.db.count("process_deaths").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_that_three_workers_bring_at_once_is_counted_together() {
    for _ in 0..10 {
        let house = House::new().await;
        let me = worker();
        house.enqueue_all(&house.jobs(3)).await;
        let claimed = house.claim(me, 3).await;
        let bring = async |job: &Claimed| house.store.finish(me, &[death(job)]).await.unwrap();
        tokio::join!(bring(&claimed[0]), bring(&claimed[1]), bring(&claimed[2]));
        assert!(first_version(&house).await.quarantined_at.is_some());
    }
}

#[tokio::test]
async fn an_outcome_that_is_written_apart_from_others_is_evidence_too() {
    // Given three deaths and an outcome that the database refuses,
    let house = House::new().await;
    let me = worker();
    house.enqueue_all(&house.jobs(4)).await;
    let claimed = house.claim(me, 4).await;
    let refused = claimed[3].key.job;
    house
        .execute(&format!("ALTER TABLE ended ADD CONSTRAINT spite CHECK (job_id <> '{refused}')"))
        .await;
    let mut batch: Vec<_> = claimed[..3].iter().map(death).collect();
    let end = crate::support::completed();
    batch.push(Finish { key: claimed[3].key, end, usage: crate::support::USAGE });

    // when they are written together, then the three are written, and judged.
    let finished = house.store.finish(me, &batch).await.unwrap();
    assert_eq!(finished.iter().filter(|one| one.applied.is_some()).count(), 3);
    assert!(first_version(&house).await.quarantined_at.is_some());
}

/// S74: what is in quarantine costs the others nothing but a moment.
#[tokio::test]
async fn jobs_in_quarantine_do_not_hide_those_behind_them() {
    // Given 2,500 jobs of a version that is in quarantine, and one of another module behind them,
    let house = House::new().await;
    let sounds = house.store.publish(&version("sounds", "other")).await.unwrap();
    for _ in 0..5 {
        house.enqueue_all(&house.jobs(500)).await;
    }
    let mut good = house.job();
    good.module = sounds.module;
    let good = house.enqueue(good).await;
    condemn(&house).await;

    // when a worker with one slot asks, then it gets that one,
    let me = worker();
    let mut cursor = ClaimCursor::default();
    let claimed = house.store.claim(&request(me, 1), &mut cursor).await.unwrap();
    assert_eq!(claimed.iter().map(|job| job.key.job).collect::<Vec<_>>(), [good]);

    // the others are put by and still available, and the queue is empty.
    assert_eq!((house.db.count("held").await, house.db.count("ready").await), (2500, 0));
    assert!(house.store.claim(&request(me, 1), &mut cursor).await.unwrap().is_empty());
    house.assert_one_place().await;
}

#[tokio::test]
async fn good_jobs_among_those_in_quarantine_are_claimed_with_the_rest_put_by() {
    let house = House::new().await;
    let sounds = house.store.publish(&version("sounds", "other")).await.unwrap();
    let mut jobs = house.jobs(20);
    for job in jobs.iter_mut().step_by(2) {
        job.module = sounds.module;
    }
    house.enqueue_all(&jobs).await;
    condemn(&house).await;

    let (me, mut cursor) = (worker(), ClaimCursor::default());
    let mut claimed = 0;
    loop {
        let some = house.store.claim(&request(me, 3), &mut cursor).await.unwrap();
        if some.is_empty() {
            break;
        }
        assert!(some.iter().all(|job| job.payload == b"input"));
        claimed += some.len();
    }
    assert_eq!(claimed, 10);
    assert_eq!((house.db.count("held").await, house.db.count("leases").await), (10, 10));
    house.assert_one_place().await;
}

#[tokio::test]
async fn lifting_the_quarantine_brings_the_jobs_back_in_batches_and_in_their_place() {
    // Given jobs that were put by, with what they had behind them,
    let house = House::new().await;
    let me = worker();
    house.enqueue_all(&house.jobs(7)).await;
    let tried = house.claim(me, 1).await.remove(0);
    house.store.finish(me, &[death(&tried)]).await.unwrap();
    condemn(&house).await;
    assert!(house.claim(me, 10).await.is_empty());
    assert_eq!(house.store.release_held(10).await.unwrap(), 0, "it is still in quarantine");

    // when the quarantine is lifted,
    assert!(lift(&house).await);
    let mut released = Vec::new();
    for _ in 0..4 {
        released.push(house.store.release_held(3).await.unwrap());
    }
    assert_eq!(released, [3, 3, 1, 0]);

    // then they run, as if nothing had been.
    let claimed = house.claim(me, 10).await;
    assert_eq!(claimed.len(), 7);
    let again = claimed.iter().find(|job| job.key.job == tried.key.job).unwrap();
    assert_eq!((again.key.run_lease, again.counters.crashes), (2, 1));
    house.assert_one_place().await;
}

#[tokio::test]
async fn another_current_version_takes_the_jobs_that_asked_for_none() {
    // Given a job that asked for the version in quarantine, and one that did not,
    let house = House::new().await;
    let me = worker();
    let mut pinned = house.job();
    pinned.version = Some(house.images.version);
    let pinned = house.enqueue(pinned).await;
    let free = house.enqueue(house.job()).await;
    condemn(&house).await;
    assert!(house.claim(me, 10).await.is_empty());

    // when another version is current, then the latter runs it, and the former waits on.
    let mended = house.store.publish(&version("images", "mended")).await.unwrap();
    assert_eq!(house.store.release_held(10).await.unwrap(), 1);
    let claimed = house.claim_again(me, free).await;
    assert_eq!(claimed.version, Some(mended.version));
    assert!(house.claim(me, 10).await.is_empty());
    let waiting = house.detail(pinned).await;
    assert_eq!(waiting.state, JobState::Available);
    assert_eq!(waiting.version.unwrap().id, house.images.version);
}

#[tokio::test]
async fn a_job_that_is_claimable_already_does_not_stand_in_the_way_of_the_others() {
    // Given three jobs put by, of which one is claimable as well, which must not be,
    let house = House::new().await;
    house.enqueue_all(&house.jobs(3)).await;
    condemn(&house).await;
    house.claim(worker(), 10).await;
    house
        .execute(
            "INSERT INTO ready (job_id, tenant_id, queue_id, priority, run_at) \
             SELECT job_id, tenant_id, queue_id, priority, run_at FROM held LIMIT 1",
        )
        .await;

    lift(&house).await;

    assert_eq!(house.store.release_held(10).await.unwrap(), 3);
    assert_eq!(house.claim(worker(), 10).await.len(), 3);
    house.assert_one_place().await;
}

#[tokio::test]
async fn a_job_in_quarantine_is_listed_needed_and_can_be_cancelled() {
    let house = House::new().await;
    let ids: Vec<_> = house.enqueue_all(&house.jobs(2)).await.iter().map(|job| job.id).collect();
    condemn(&house).await;
    house.claim(worker(), 10).await;

    let filter = cofferdam_store::JobFilter {
        state: Some(JobState::Available),
        ..cofferdam_store::JobFilter::default()
    };
    let page = cofferdam_store::Page { before: None, limit: 10 };
    let listed = house.store.list_jobs(TENANT, &filter, page).await.unwrap();
    assert_eq!(listed.len(), 2);
    let refused = house.store.delete_module(TENANT, &module("images")).await.unwrap_err();
    assert!(matches!(refused, StoreError::InUse { ref jobs, .. } if jobs == "2"), "{refused}");

    for id in ids {
        assert_eq!(house.store.cancel(TENANT, id).await.unwrap(), Cancel::Cancelled);
    }
    assert_eq!(house.db.count("held").await, 0);
    house.store.delete_module(TENANT, &module("images")).await.unwrap();
    house.assert_one_place().await;
}
