//! What keeps going while something else is busy, stuck or broken.

use cofferdam_core::class::FailureClass;
use cofferdam_core::job::JobOptions;
use cofferdam_core::name::QueueName;
use cofferdam_core::retry::Backoff;
use cofferdam_core::state::JobState;
use cofferdam_runner::WorkerSettings;
use cofferdam_testkit::platform::{BOUND, Platform, new_job, stop};
use cofferdam_testkit::wait::wait_for;
use std::time::Duration;

/// S4, S6: guests that never yield neither starve their heartbeats nor outlive their deadline.
#[tokio::test(flavor = "multi_thread")]
async fn spinning_guests_are_beaten_until_their_deadline_ends_them() {
    // Given twice as many spinning guests as this machine has guest threads, whose deadline is
    // later than their leases could go unbeaten,
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let settings = Platform::quick();
    let deadline = settings.heartbeat_staleness * 2;
    let worker = platform.worker(settings.clone()).await;
    let mut ids = Vec::new();
    for _ in 0..4 {
        let mut job = new_job("misbehave/spin", "null");
        job.options = JobOptions { max_attempts: Some(1), ..job.options };
        job.options.limits.deadline = Some(deadline);
        ids.push(platform.submit_job(job).await);
    }

    // when they spin, then no heartbeat is ever older than a lease may be,
    let mut oldest = Duration::ZERO;
    wait_for("every job to have ended", BOUND, async || {
        let cluster = platform.store.cluster().await.unwrap();
        oldest = oldest.max(cluster.oldest_beat.unwrap_or_default());
        for id in &ids {
            let state = platform.job(*id).await.state;
            if !state.is_terminal() {
                return Err(format!("{id} is {state}"));
            }
        }
        Ok(())
    })
    .await;
    assert!(oldest < settings.heartbeat_staleness, "{oldest:?}");

    // and each died of its deadline, with no crash counted.
    for id in ids {
        let job = platform.job(id).await;
        assert_eq!((job.state, job.counters.crashes), (JobState::Dead, 0));
        assert_eq!(job.errors.last().unwrap().class, FailureClass::Deadline);
    }
    stop(worker).await;
}

/// S8, S83: sweeps are independent, and what fails says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_that_fails_does_not_stop_the_others() {
    // Given a database that refuses to promote,
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    platform.refuse_deletions("scheduled").await;
    let stale = platform.submit("misbehave/echo", "1").await;
    platform.claim_as_a_ghost().await;
    let mut job = new_job("misbehave/echo", "2");
    job.run_at = Some(platform.store.now().await.unwrap() + Duration::from_hours(1));
    let due = platform.submit_job(job).await;
    platform.let_time_pass(Duration::from_hours(2)).await;

    // when there is work for several sweeps,
    let worker = platform.worker(Platform::quick()).await;

    // then the lease is rescued all the same, and people can see what is wrong,
    assert_eq!(platform.ended(stale).await.counters.crashes, 1);
    wait_for("a report of the failing sweep", BOUND, async || {
        let sweeps = platform.store.cluster().await.unwrap().sweeps;
        match sweeps.iter().find(|sweep| sweep.name == "promote") {
            Some(sweep) if sweep.failures > 0 && sweep.error.is_some() => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    assert_eq!(platform.job(due).await.state, JobState::Scheduled);

    // and once the cause is gone, so is the trouble, and no job has come to harm.
    platform.allow_deletions("scheduled").await;
    assert_eq!(platform.ended(due).await.state, JobState::Completed);
    assert_eq!(platform.db.count("dlq").await, 0);
    stop(worker).await;
}

/// S68: a rescue under way holds up no claim.
#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_claimed_while_leases_are_being_rescued() {
    // Given a rescue that has locked every lease there is, and takes its time,
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let slow = platform.submit("misbehave/echo", "1").await;
    platform.claim_as_a_ghost().await;
    let rescue = platform.lock_leases().await;

    // when another job comes, then it runs.
    let worker = platform.worker(Platform::quick()).await;
    let id = platform.submit("misbehave/echo", "2").await;
    assert_eq!(platform.ended(id).await.state, JobState::Completed);
    assert_eq!(platform.job(slow).await.state, JobState::Running);

    rescue.release().await;
    assert_eq!(platform.ended(slow).await.state, JobState::Completed);
    stop(worker).await;
}

/// S51, S94: backpressure is that what does not fit is not claimed.
#[tokio::test(flavor = "multi_thread")]
async fn no_more_jobs_are_claimed_than_there_are_slots() {
    // Given ten times as many jobs as slots,
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let worker = platform.worker(WorkerSettings { slots: 4, ..Platform::quick() }).await;
    let mut ids = Vec::new();
    for _ in 0..40 {
        ids.push(platform.submit("misbehave/slow", r#"{"ms": 50}"#).await);
    }

    // when they run, then there are never more leases than slots,
    let mut most = 0;
    wait_for("every job to have ended", BOUND, async || {
        most = most.max(platform.store.cluster().await.unwrap().running);
        let left = 40 - platform.db.count("ended").await;
        if left == 0 { Ok(()) } else { Err(format!("{left} jobs are left")) }
    })
    .await;
    assert!((1..=4).contains(&most), "{most} leases at once");

    // and each job took one attempt.
    for id in ids {
        let job = platform.job(id).await;
        assert_eq!((job.state, job.counters.attempts), (JobState::Completed, 0));
        assert!(job.errors.is_empty());
    }
    stop(worker).await;
}

/// S72: counters live with the job, not with whoever runs it.
#[tokio::test(flavor = "multi_thread")]
async fn attempts_are_counted_on_when_every_worker_is_replaced() {
    // Given a job that fails once on one worker, and waits for its next attempt,
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let worker = platform.worker(Platform::quick()).await;
    let mut job = new_job("misbehave/error", "null");
    job.options.max_attempts = Some(2);
    // No worker takes it before the test lets time pass.
    job.options.backoff = Some(Backoff::Constant(Duration::from_mins(10)));
    let id = platform.submit_job(job).await;
    platform.in_state(id, JobState::Retryable).await;
    stop(worker).await;

    // when its next attempt is another worker's,
    platform.let_time_pass(Duration::from_hours(1)).await;
    let worker = platform.worker(Platform::quick()).await;

    // then it is the second, and the last.
    let job = platform.ended(id).await;
    assert_eq!((job.state, job.counters.attempts), (JobState::Dead, 2));
    let workers: Vec<_> = job.errors.iter().map(|error| error.worker).collect();
    assert_ne!(workers[0], workers[1]);
    stop(worker).await;
}

/// A queue that is paused is not a queue that is forgotten: what was rescued into it waits there.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_rescued_into_a_paused_queue_waits_there() {
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let id = platform.submit("misbehave/echo", "1").await;
    platform.claim_as_a_ghost().await;
    let queue = QueueName::default_queue();
    let tenant = cofferdam_core::ids::TenantId::DEFAULT;
    platform.store.pause_queue(tenant, &queue).await.unwrap();

    let worker = platform.worker(Platform::quick()).await;
    let job = platform.in_state(id, JobState::Available).await;
    assert_eq!(job.counters.crashes, 1);

    platform.store.resume_queue(tenant, &queue).await.unwrap();
    assert_eq!(platform.ended(id).await.state, JobState::Completed);
    stop(worker).await;
}
