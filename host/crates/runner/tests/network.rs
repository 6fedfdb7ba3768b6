//! What a worker does when its network to the database is cut.

use cofferdam_core::history::HEARTBEAT_STALE;
use cofferdam_core::state::JobState;
use cofferdam_runner::WorkerSettings;
use cofferdam_testkit::platform::{BOUND, Platform, new_job, stop};
use cofferdam_testkit::proxy::Mode;
use cofferdam_testkit::wait::wait_for;
use std::time::Duration;

/// S12, S15, S53: the partition row of the crash matrix.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_cut_off_kills_its_guests_before_anybody_else_may_run_them() {
    // Given a worker that runs a job, and then hears nothing from the database any more,
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let (cut_off, proxy) = platform.worker_behind_a_proxy(Platform::quick()).await;
    let mut job = new_job("misbehave/sleep", "null");
    job.options.limits.deadline = Some(Duration::from_mins(10));
    let id = platform.submit_job(job).await;
    platform.in_state(id, JobState::Running).await;
    proxy.set(Mode::BlackHole);

    // when the lease may soon be somebody else's, then the guest is dead, although nobody could
    // tell the worker,
    wait_for("the guest to be dead", BOUND, async || {
        let occupied = cut_off.status().occupied;
        if occupied == 0 { Ok(()) } else { Err(format!("{occupied} slots are occupied")) }
    })
    .await;
    let job = platform.job(id).await;
    assert_eq!((job.state, job.counters.crashes), (JobState::Running, 0), "nobody had it yet");

    // and only after that another worker runs the job.
    let worker = platform.worker(Platform::quick()).await;
    let job = platform.reached(id, |job| job.counters.crashes == 1).await;
    assert_eq!(job.errors[0].message, HEARTBEAT_STALE);
    platform.in_state(id, JobState::Running).await;
    stop(worker).await;
    proxy.set(Mode::Forward);
    stop(cut_off).await;
}

/// S87: the outcome waits, and is written once.
#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_waits_for_the_database() {
    // Given a job that is about to end while the database does not answer,
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let settings = WorkerSettings {
        heartbeat_interval: Duration::from_secs(10),
        heartbeat_staleness: Duration::from_mins(1),
        ..Platform::quick()
    };
    let (worker, proxy) = platform.worker_behind_a_proxy(settings).await;
    // The worker has at hand what it needs for the next one.
    platform.ended(platform.submit("misbehave/slow", r#"{"ms": 1}"#).await).await;
    let id = platform.submit("misbehave/slow", r#"{"ms": 1000}"#).await;
    platform.in_state(id, JobState::Running).await;
    proxy.set(Mode::BlackHole);
    proxy.reset();

    // when the guest has ended and its outcome waits, and the network is back,
    wait_for("an outcome that waits", BOUND, async || {
        let status = worker.status();
        if status.unwritten == 1 { Ok(()) } else { Err(format!("{status:?}")) }
    })
    .await;
    assert_eq!(platform.job(id).await.state, JobState::Running);
    proxy.set(Mode::Forward);
    proxy.reset();

    // then the outcome is recorded, once, and nothing ran again.
    let job = platform.ended(id).await;
    assert_eq!((job.state, job.counters.attempts), (JobState::Completed, 0));
    assert_eq!(platform.attempts(id).await, []);
    stop(worker).await;
}

/// S65, S53: whoever stops a worker need not kill it, whatever the network does.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_cut_off_drains_all_the_same() {
    // Given a worker that hears nothing from the database any more,
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let (worker, proxy) = platform.worker_behind_a_proxy(Platform::quick()).await;
    platform.ended(platform.submit("misbehave/echo", "1").await).await;
    proxy.set(Mode::BlackHole);
    let bound = Duration::from_mins(1);

    // when it is told to stop, then it does.
    tokio::time::timeout(bound, stop(worker)).await.expect("it stops");
}
