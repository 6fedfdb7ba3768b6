//! Jobs that wait for something outside, from end to end.

use cofferdam_core::state::JobState;
use cofferdam_core::wait::CallbackToken;
use cofferdam_runner::WorkerSettings;
use cofferdam_testkit::platform::{Platform, new_job, stop};
use std::time::Duration;

/// S39: a gate that is closed for an hour holds no slot.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_waits_for_an_hour_holds_no_slot() {
    // Given a worker with one slot, and a job that waits for an answer,
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let worker = platform.worker(WorkerSettings { slots: 1, ..Platform::quick() }).await;
    let waiting = platform.submit("misbehave/await-answer", r#"{"ms": 3600000}"#).await;
    platform.in_state(waiting, JobState::Suspended).await;

    // when others come, then they run, one after the other, while it waits,
    for _ in 0..3 {
        let other = platform.submit("misbehave/echo", "1").await;
        platform.ended(other).await;
    }
    let job = platform.job(waiting).await;
    assert_eq!(job.state, JobState::Suspended);
    assert_eq!(worker.status().occupied, 0);

    // and when somebody answers, then it completes with the answer, and nothing was counted.
    let token: CallbackToken = platform.log_text(waiting).await.trim().parse().unwrap();
    let called = platform.store.call_back(token.hash(), b"approved").await.unwrap();
    assert_eq!(called, Some(waiting));
    let job = platform.ended(waiting).await;
    assert_eq!((job.state, job.counters.crashes), (JobState::Completed, 0));
    assert_eq!(platform.output(waiting).await, b"approved");
    let attempts = platform.attempts(waiting).await;
    assert_eq!(attempts[0].0, "snoozed", "{attempts:?}");
    stop(worker).await;
}

/// S39: the sweep for callbacks that never come.
#[tokio::test(flavor = "multi_thread")]
async fn a_callback_that_never_comes_is_told_to_the_handler() {
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let worker = platform.worker(Platform::quick()).await;
    let id = platform.submit("misbehave/await-answer", r#"{"ms": 1000}"#).await;
    assert_eq!(platform.ended(id).await.state, JobState::Completed);
    assert_eq!(platform.output(id).await, b"timed out");
    stop(worker).await;
}

/// A job that slept and failed afterwards does not sleep again.
#[tokio::test(flavor = "multi_thread")]
async fn what_ended_the_wait_is_known_to_every_later_attempt() {
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let worker = platform.worker(Platform::quick()).await;
    let id = platform.submit("misbehave/doze", r#"{"ms": 1000}"#).await;
    let job = platform.ended(id).await;
    assert_eq!((job.state, job.counters.attempts), (JobState::Completed, 1));
    assert_eq!(platform.output(id).await, b"2");
    stop(worker).await;
}

/// The deadline is that of an attempt, and there is none while the job waits.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_may_wait_longer_than_its_deadline() {
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let worker = platform.worker(Platform::quick()).await;
    let mut job = new_job("misbehave/await-answer", r#"{"ms": 600000}"#);
    job.options.limits.deadline = Some(Duration::from_secs(2));
    let id = platform.submit_job(job).await;
    platform.in_state(id, JobState::Suspended).await;
    let lease = platform.job(id).await.deadline_at;
    assert_eq!(lease, None, "nothing of it can be overdue");
    platform.let_leases_age(Duration::from_hours(1)).await;
    assert_eq!(platform.job(id).await.state, JobState::Suspended);
    stop(worker).await;
}
