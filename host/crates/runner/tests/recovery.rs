//! Who mends what when a worker is gone: leaders, evictions, drains on order.

use cofferdam_core::history::{EVICTED, HEARTBEAT_STALE};
use cofferdam_core::state::JobState;
use cofferdam_runner::{StopReason, Worker, WorkerSettings, evict};
use cofferdam_testkit::platform::{BOUND, Platform, new_job, stop};
use cofferdam_testkit::wait::wait_for;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Waits until a worker leads.
async fn leads(worker: &Worker) {
    wait_for("the worker to lead", BOUND, async || {
        let status = worker.status();
        if status.leading { Ok(()) } else { Err(format!("{status:?}")) }
    })
    .await;
}

/// A job that sleeps until somebody ends it.
async fn sleeper(platform: &Platform) -> cofferdam_core::ids::JobId {
    let mut job = new_job("misbehave/sleep", "null");
    job.options.limits.deadline = Some(Duration::from_mins(10));
    platform.submit_job(job).await
}

/// S8, S43, S103.
#[tokio::test(flavor = "multi_thread")]
async fn one_worker_leads_and_another_takes_over_when_it_resigns() {
    // Given two workers, of which the first leads,
    let platform = Platform::start().await;
    let first = platform.worker(Platform::quick()).await;
    leads(&first).await;
    let second = platform.worker(Platform::quick()).await;
    let before = platform.store.cluster().await.unwrap().leader.unwrap();
    assert_eq!(before.worker, first.id());
    assert!(!second.status().leading);

    // when it drains,
    stop(first).await;

    // then the other one leads, in a new epoch.
    leads(&second).await;
    let after = platform.store.cluster().await.unwrap().leader.unwrap();
    assert_eq!((after.worker, after.epoch), (second.id(), before.epoch + 1));
    stop(second).await;
    assert_eq!(platform.store.cluster().await.unwrap().leader, None);
}

/// S98, S102: what came due while nobody led is done at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_leader_begins_with_what_was_left_undone() {
    // Given a job that came due, and a lease that went stale, while there was no worker at all,
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let lost = platform.submit("misbehave/echo", "1").await;
    platform.claim_as_a_ghost().await;
    let mut job = new_job("misbehave/echo", "2");
    job.run_at = Some(platform.store.now().await.unwrap() + Duration::from_hours(1));
    let due = platform.submit_job(job).await;
    platform.let_time_pass(Duration::from_hours(2)).await;
    platform.let_leases_age(Duration::from_mins(5)).await;

    // when a worker comes whose sweeps would not come round before tomorrow,
    let day = Duration::from_hours(24);
    let settings =
        WorkerSettings { promote_interval: day, rescue_interval: day, ..Platform::quick() };
    let worker = platform.worker(settings).await;

    // then both jobs run.
    assert_eq!(platform.ended(due).await.state, JobState::Completed);
    let job = platform.ended(lost).await;
    assert_eq!((job.state, job.counters.crashes), (JobState::Completed, 1));
    assert_eq!(job.errors[0].message, HEARTBEAT_STALE);
    stop(worker).await;
}

/// S62, S71.
#[tokio::test(flavor = "multi_thread")]
async fn an_evicted_worker_kills_its_guests_and_its_jobs_run_elsewhere() {
    // Given a worker that runs a job,
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let evicted = platform.worker(Platform::quick()).await;
    let id = sleeper(&platform).await;
    platform.in_state(id, JobState::Running).await;
    let first = platform.job(id).await.worker;
    assert_eq!(first, Some(evicted.id()));

    // when an operator evicts it,
    let rescued = evict(&platform.store, evicted.id()).await.unwrap();

    // then its job is taken back at once, and the worker hears that it should stop
    assert_eq!(rescued, Some(1));
    assert_eq!(evicted.must_stop().await, StopReason::Evicted);
    evicted.abandon().await;

    // and a new one has the job, with a crash counted and the reason in the history.
    let worker = platform.worker(Platform::quick()).await;
    let job = platform.in_state(id, JobState::Running).await;
    assert_eq!((job.worker, job.counters.crashes), (Some(worker.id()), 1));
    assert_eq!(platform.attempts(id).await, [("lost".to_owned(), EVICTED.to_owned())]);
    stop(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_can_evict_a_worker_that_there_is_not() {
    let platform = Platform::start().await;
    let stranger = cofferdam_core::ids::WorkerId::from_uuid(uuid::Uuid::now_v7());
    assert_eq!(evict(&platform.store, stranger).await.unwrap(), None);
    assert!(!platform.store.request_drain(stranger).await.unwrap());
}

/// S65.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_drains_when_an_operator_asks_for_it() {
    // Given a worker that runs a job,
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let worker = platform.worker(Platform::quick()).await;
    let id = platform.submit("misbehave/slow", r#"{"ms": 500}"#).await;
    platform.in_state(id, JobState::Running).await;

    // when an operator asks for it to drain, then it hears of it,
    assert!(platform.store.request_drain(worker.id()).await.unwrap());
    assert_eq!(worker.must_stop().await, StopReason::Drain);

    // and its job completes before it goes, with nothing counted.
    worker.drain(Duration::from_secs(30), CancellationToken::new()).await;
    let job = platform.job(id).await;
    assert_eq!(job.state, JobState::Completed);
    assert_eq!((job.counters.attempts, job.counters.crashes), (0, 0));
    assert!(platform.store.workers().await.unwrap().is_empty());
}

/// S71: a worker whose row is gone does not come back under its old id.
#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_worker_has_to_start_anew() {
    let platform = Platform::start().await;
    let worker = platform.worker(Platform::quick()).await;
    let id = worker.id();

    platform.store.remove_worker(id).await.unwrap();

    assert_eq!(worker.must_stop().await, StopReason::Evicted);
    worker.abandon().await;
    assert!(platform.store.workers().await.unwrap().iter().all(|worker| worker.id != id));
}
