//! A worker's life: claims, cancels, drains, lost leases.

use cofferdam_core::ids::{LeaseKey, TenantId};
use cofferdam_core::job::Priority;
use cofferdam_core::name::QueueName;
use cofferdam_core::state::JobState;
use cofferdam_runner::WorkerSettings;
use cofferdam_store::Cancel;
use cofferdam_testkit::platform::{BOUND, Platform, new_job, stop};
use cofferdam_testkit::wait::wait_for;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

#[tokio::test(flavor = "multi_thread")]
async fn jobs_go_in_and_results_come_out() {
    // Given a worker,
    let platform = Platform::start().await;
    platform.push("markdown").await;
    let worker = platform.worker(Platform::quick()).await;

    // when many jobs are submitted,
    let mut ids = Vec::new();
    for number in 0..200 {
        ids.push(platform.submit("markdown", format!("# Title {number}")).await);
    }

    // then each completes with its own result, in one attempt.
    for (number, id) in ids.into_iter().enumerate() {
        let job = platform.ended(id).await;
        assert_eq!(job.state, JobState::Completed, "{:?}", job.errors);
        let html = String::from_utf8(platform.output(id).await).unwrap();
        assert_eq!(html.trim(), format!("<h1>Title {number}</h1>"));
        assert!(job.usage.is_some_and(|usage| usage.fuel > 0 && usage.peak_memory_bytes > 0));
    }
    stop(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_job_is_cancelled_at_once_and_never_runs() {
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let id = platform.submit("misbehave/echo", "null").await;

    let cancel = platform.store.cancel(TenantId::DEFAULT, id).await.unwrap();
    assert_eq!(cancel, Cancel::Cancelled);

    let worker = platform.worker(Platform::quick()).await;
    let other = platform.submit("misbehave/echo", "null").await;
    platform.ended(other).await;
    let job = platform.job(id).await;
    assert_eq!(job.state, JobState::Cancelled);
    assert!(job.errors.is_empty());
    stop(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_job_is_cancelled_within_a_second() {
    // Given a handler that sleeps for an hour and one that spins,
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let settings = WorkerSettings {
        // Only the notification can be this quick.
        heartbeat_interval: Duration::from_secs(10),
        heartbeat_staleness: Duration::from_secs(30),
        ..Platform::quick()
    };
    let worker = platform.worker(settings).await;
    for kind in ["sleep", "spin"] {
        let mut job = new_job(&format!("misbehave/{kind}"), "null");
        job.options.limits.deadline = Some(Duration::from_mins(1));
        let id = platform.submit_job(job).await;
        platform.in_state(id, JobState::Running).await;

        // when it is cancelled,
        let asked = Instant::now();
        assert_eq!(platform.store.cancel(TenantId::DEFAULT, id).await.unwrap(), Cancel::Requested);

        // then it ends as cancelled, long before its deadline or a heartbeat.
        let job = platform.ended(id).await;
        assert_eq!(job.state, JobState::Cancelled, "{kind}");
        assert_eq!(job.counters.attempts, 0, "{kind}: a cancel counts as nothing");
        let attempts = platform.attempts(id).await;
        let message = "the job was cancelled while it ran";
        assert_eq!(attempts, [("cancelled".to_owned(), message.to_owned())], "{kind}");
        assert!(asked.elapsed() < Duration::from_secs(5), "{kind}: {:?}", asked.elapsed());
    }
    stop(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_notification_costs_a_cancel_one_heartbeat() {
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let worker = platform.worker(Platform::quick()).await;
    let mut job = new_job("misbehave/sleep", "null");
    job.options.limits.deadline = Some(Duration::from_mins(1));
    let id = platform.submit_job(job).await;
    platform.in_state(id, JobState::Running).await;

    // When the intent is written without a notification,
    platform.request_cancels_silently().await;

    // then the next heartbeat brings it.
    assert_eq!(platform.ended(id).await.state, JobState::Cancelled);
    stop(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_gives_running_jobs_back_without_burning_an_attempt() {
    // Given a worker with a long job,
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let worker = platform.worker(Platform::quick()).await;
    let mut job = new_job("misbehave/sleep", "null");
    job.options.limits.deadline = Some(Duration::from_mins(1));
    let id = platform.submit_job(job).await;
    platform.in_state(id, JobState::Running).await;

    // when it drains with a short grace,
    worker.drain(Duration::from_millis(50), CancellationToken::new()).await;

    // then the job is claimable again, nothing is counted, and the worker is gone.
    let job = platform.job(id).await;
    assert_eq!(job.state, JobState::Available);
    assert_eq!((job.counters.attempts, job.counters.crashes), (0, 0));
    let message = "the worker stopped before the attempt ended";
    assert_eq!(platform.attempts(id).await, [("released".to_owned(), message.to_owned())]);
    assert!(platform.store.workers().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_lets_short_jobs_finish() {
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let worker = platform.worker(Platform::quick()).await;
    let id = platform.submit("misbehave/slow", r#"{"ms": 500}"#).await;
    platform.in_state(id, JobState::Running).await;

    worker.drain(Duration::from_secs(30), CancellationToken::new()).await;

    let job = platform.job(id).await;
    assert_eq!(job.state, JobState::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_whose_lease_was_taken_is_killed() {
    // Given a job that sleeps for an hour, in a queue that starts nothing more,
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let settings = WorkerSettings { rescue_interval: Duration::from_mins(1), ..Platform::quick() };
    let worker = platform.worker(settings).await;
    let mut job = new_job("misbehave/sleep", "null");
    job.options.limits.deadline = Some(Duration::from_mins(10));
    let id = platform.submit_job(job).await;
    platform.in_state(id, JobState::Running).await;
    platform.store.pause_queue(TenantId::DEFAULT, &QueueName::default_queue()).await.unwrap();

    // when somebody takes its lease,
    platform.rescue_everything().await;
    let rescued = platform.job(id).await;
    assert_eq!(rescued.state, JobState::Available);
    assert_eq!(rescued.errors[0].message, cofferdam_core::history::HEARTBEAT_STALE);

    // then the guest dies with the next heartbeat, although it would sleep on for an hour.
    wait_for("the guest to be dead", BOUND, async || {
        let occupied = worker.status().occupied;
        if occupied == 0 { Ok(()) } else { Err(format!("{occupied} slots are occupied")) }
    })
    .await;
    let job = platform.job(id).await;
    assert_eq!((job.state, job.counters.crashes), (JobState::Available, 1));
    stop(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_notification_was_lost_is_found_by_polling() {
    // Given an idle worker,
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let worker = platform.worker(Platform::quick()).await;

    // when a job becomes claimable without a word to anyone,
    let mut job = new_job("misbehave/echo", "1");
    job.run_at = Some(platform.store.now().await.unwrap() + Duration::from_hours(1));
    let id = platform.submit_job(job).await;
    platform.make_ready_silently().await;

    // then it runs all the same.
    assert_eq!(platform.ended(id).await.state, JobState::Completed);
    stop(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_workers_jobs_run_elsewhere_with_a_crash_counted() {
    // Given a job that was claimed by a worker which then vanished without a word,
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let id = platform.submit("misbehave/echo", "\"hello\"").await;
    let key: LeaseKey = platform.claim_as_a_ghost().await;
    assert_eq!(key.job, id);

    // when another worker lives long enough to find the heartbeat stale,
    let worker = platform.worker(Platform::quick()).await;

    // then the job completes there.
    let job = platform.ended(id).await;
    assert_eq!(job.state, JobState::Completed);
    assert_eq!(job.counters.crashes, 1);
    assert_eq!(job.errors[0].message, cofferdam_core::history::HEARTBEAT_STALE);

    // And what the ghost says now changes nothing.
    assert_eq!(platform.finish_as_a_ghost(key).await, None);
    assert_eq!(platform.output(id).await, b"\"hello\"");
    stop(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_highest_priority_runs_first() {
    // Given jobs of all priorities that wait for a single slot,
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let mut ids = Vec::new();
    for priority in [4, 2, 1, 3] {
        let mut job = new_job("misbehave/echo", priority.to_string());
        job.priority = Priority::new(priority).unwrap();
        ids.push(platform.submit_job(job).await);
    }

    // when a worker with one slot starts,
    let worker = platform.worker(WorkerSettings { slots: 1, ..Platform::quick() }).await;

    // then they started in the order of their priorities.
    let mut started = Vec::new();
    for id in ids {
        let job = platform.ended(id).await;
        started.push((job.started_at.unwrap(), job.priority.get()));
    }
    started.sort();
    let order: Vec<_> = started.into_iter().map(|(_, priority)| priority).collect();
    assert_eq!(order, [1, 2, 3, 4]);
    stop(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_goes_on_when_its_connections_are_cut() {
    // Given a worker at work,
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let worker = platform.worker(Platform::quick()).await;
    platform.ended(platform.submit("misbehave/echo", "1").await).await;

    // when the database throws everyone out while a job runs,
    let id = platform.submit("misbehave/slow", r#"{"ms": 300}"#).await;
    platform.in_state(id, JobState::Running).await;
    platform.cut_connections().await;

    // then that job and the next end well, without a retry.
    let job = platform.ended(id).await;
    assert_eq!(job.state, JobState::Completed, "{:?}", job.errors);
    assert_eq!(job.counters.crashes, 0);
    let next = platform.ended(platform.submit("misbehave/echo", "2").await).await;
    assert_eq!(next.state, JobState::Completed);
    stop(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_of_an_ended_job_are_complete() {
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let worker = platform.worker(Platform::quick()).await;
    let mut job = new_job("misbehave/panic", "null");
    job.options.max_attempts = Some(1);
    let id = platform.submit_job(job).await;
    platform.ended(id).await;

    let lines = platform.log_text(id).await;
    assert!(lines.contains("a handler's own panic"), "{lines}");
    stop(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_due_tomorrow_runs_tomorrow() {
    // Given a job that is due in a day,
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let worker = platform.worker(Platform::quick()).await;
    let mut job = new_job("misbehave/echo", "1");
    job.run_at = Some(platform.store.now().await.unwrap() + Duration::from_hours(24));
    let id = platform.submit_job(job).await;

    // when most of the day has passed it still waits,
    platform.let_time_pass(Duration::from_hours(23)).await;
    platform.ended(platform.submit("misbehave/echo", "2").await).await;
    assert_eq!(platform.job(id).await.state, JobState::Scheduled);

    // and when all of it has, it runs.
    platform.let_time_pass(Duration::from_hours(1)).await;
    assert_eq!(platform.ended(id).await.state, JobState::Completed);
    stop(worker).await;
}
