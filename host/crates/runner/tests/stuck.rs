//! A guest thread that nothing can interrupt. In a process of its own, because the threads are
//! everybody's who runs guests there.

#[expect(clippy::unwrap_used, reason = "what fails there fails the test")]
mod support;

use cofferdam_core::state::JobState;
use cofferdam_runner::{StopReason, WorkerSettings};
use cofferdam_testkit::platform::{Platform, new_job, stop};
use std::time::Duration;

/// S7, S91: past the limit the worker wants to be started anew, and it can be stopped.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_loses_its_threads_wants_to_stop() {
    // Given guests that fill a lot of memory with one instruction, again and again, and a worker
    // for which each of these takes for ever,
    let platform = Platform::start().await;
    let filler = support::handler(include_str!("fixtures/fill.wat"));
    platform.publish("filler", filler, <_>::default()).await;
    let settings = WorkerSettings {
        stall_limit: Duration::from_millis(10),
        max_leaked: 1,
        ..Platform::quick()
    };
    let worker = platform.worker(settings).await;

    // when they run there,
    let mut ids = Vec::new();
    for _ in 0..4 {
        let mut job = new_job("filler/fill", "null");
        job.options.limits.deadline = Some(Duration::from_mins(10));
        job.options.limits.memory_bytes = Some(600 << 20);
        ids.push(platform.submit_job(job).await);
    }

    // then the worker asks to be stopped, and can be,
    assert_eq!(worker.must_stop().await, StopReason::Leaked);
    stop(worker).await;

    // and no job has come to an end because of it.
    for id in ids {
        let job = platform.job(id).await;
        assert!(
            matches!(job.state, JobState::Available | JobState::Running | JobState::Retryable),
            "{job:?}"
        );
    }
}
