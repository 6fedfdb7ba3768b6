//! Every failure class, on a real handler: what state the job ends in, which class and code its
//! error history shows, how many attempts it took, and what the message says.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod support;

use cofferdam_core::class::FailureClass;
use cofferdam_core::job::JobOptions;
use cofferdam_core::retry::Backoff;
use cofferdam_core::state::JobState;
use cofferdam_runner::WorkerSettings;
use cofferdam_store::JobDetail;
use cofferdam_testkit::platform::{Platform, new_job, stop};
use std::time::Duration;

/// What a kind of `misbehave` must come to when it may be attempted twice.
struct Expected {
    kind: &'static str,
    state: JobState,
    class: FailureClass,
    code: &'static str,
    attempts: usize,
    message: &'static str,
}

const TABLE: [Expected; 15] = [
    Expected {
        kind: "error",
        state: JobState::Dead,
        class: FailureClass::Error,
        code: "flaky",
        attempts: 2,
        message: "attempt 2 failed, as all do",
    },
    Expected {
        kind: "permanent",
        state: JobState::Failed,
        class: FailureClass::Permanent,
        code: "hopeless",
        attempts: 1,
        message: "this can never work",
    },
    Expected {
        kind: "panic",
        state: JobState::Dead,
        class: FailureClass::Trap,
        code: "unreachable",
        attempts: 2,
        message: "a handler's own panic, in attempt 2",
    },
    Expected {
        kind: "divide",
        state: JobState::Dead,
        class: FailureClass::Trap,
        code: "unreachable",
        attempts: 2,
        message: "attempt to divide by zero",
    },
    Expected {
        kind: "abort",
        state: JobState::Dead,
        class: FailureClass::Trap,
        code: "unreachable",
        attempts: 2,
        message: "unreachable",
    },
    Expected {
        kind: "exit",
        state: JobState::Dead,
        class: FailureClass::Error,
        code: "exit-1",
        attempts: 2,
        message: "the guest exited with a failure",
    },
    Expected {
        kind: "spin",
        state: JobState::Dead,
        class: FailureClass::Deadline,
        code: "deadline",
        attempts: 2,
        message: "passed its deadline of 300ms",
    },
    Expected {
        kind: "sleep",
        state: JobState::Dead,
        class: FailureClass::Deadline,
        code: "deadline",
        attempts: 2,
        message: "passed its deadline of 300ms",
    },
    Expected {
        kind: "fuel",
        state: JobState::Failed,
        class: FailureClass::Fuel,
        code: "out-of-fuel",
        attempts: 1,
        message: "the fuel budget of 1000000 is used up",
    },
    Expected {
        kind: "allocate",
        state: JobState::Failed,
        class: FailureClass::Memory,
        code: "memory-limit",
        attempts: 1,
        message: "the attempt may have 64MiB of memory, and asked for more",
    },
    Expected {
        kind: "recurse",
        state: JobState::Failed,
        class: FailureClass::Stack,
        code: "stack-overflow",
        attempts: 1,
        message: "the guest's call stack is used up",
    },
    Expected {
        kind: "flood-output",
        state: JobState::Failed,
        class: FailureClass::Output,
        code: "output-limit",
        attempts: 1,
        message: "the output is larger than the 8MiB that it may have",
    },
    Expected {
        kind: "flood-log",
        state: JobState::Failed,
        class: FailureClass::LogFlood,
        code: "log-flood",
        attempts: 1,
        message: "log",
    },
    Expected {
        kind: "flood-stdout",
        state: JobState::Failed,
        class: FailureClass::LogFlood,
        code: "log-flood",
        attempts: 1,
        message: "log",
    },
    Expected {
        kind: "retry-after",
        state: JobState::Dead,
        class: FailureClass::Error,
        code: "busy",
        attempts: 2,
        message: "try again in a second",
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn every_failure_class_ends_as_the_table_says() {
    // Given a worker, and a handler for each way to fail,
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let worker = platform.worker(Platform::quick()).await;

    // when each is submitted with two attempts and no backoff,
    let mut jobs = Vec::new();
    for expected in &TABLE {
        let mut job = new_job(&format!("misbehave/{}", expected.kind), "null");
        job.options = JobOptions {
            max_attempts: Some(2),
            backoff: Some(Backoff::None),
            ..JobOptions::default()
        };
        if matches!(expected.kind, "spin" | "sleep") {
            job.options.limits.deadline = Some(Duration::from_millis(300));
        }
        jobs.push((expected, platform.submit_job(job).await));
    }

    // then each ends as the table says.
    let mut wrong = Vec::new();
    for (expected, id) in jobs {
        let job = platform.ended(id).await;
        if let Some(problem) = mismatch(expected, &job) {
            wrong.push(format!("{}: {problem}\n  {:?}", expected.kind, job.errors.last()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    stop(worker).await;
}

fn mismatch(expected: &Expected, job: &JobDetail) -> Option<String> {
    if job.state != expected.state {
        return Some(format!("is {}, not {}", job.state, expected.state));
    }
    if job.counters.attempts as usize != expected.attempts {
        return Some(format!("{} attempts are counted", job.counters.attempts));
    }
    if job.errors.len() != expected.attempts {
        return Some(format!("{} attempts, not {}", job.errors.len(), expected.attempts));
    }
    let last = job.errors.last()?;
    if last.class != expected.class || last.code != expected.code {
        return Some(format!(
            "{}/{}, not {}/{}",
            last.class, last.code, expected.class, expected.code
        ));
    }
    (!last.message.contains(expected.message))
        .then(|| format!("the message does not say {:?}", expected.message))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_leaves_its_message_and_a_backtrace_with_function_names() {
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let worker = platform.worker(Platform::quick()).await;

    let mut job = new_job("misbehave/panic", "null");
    job.options.max_attempts = Some(1);
    let job = platform.ended(platform.submit_job(job).await).await;

    let error = job.errors.last().unwrap();
    assert!(error.message.contains("a handler's own panic"), "{}", error.message);
    assert!(error.backtrace.contains("misbehave::crashes::panic"), "{}", error.backtrace);
    assert!(error.backtrace.contains("misbehave/src/crashes.rs:"), "{}", error.backtrace);
    stop(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_kind_is_gone_fails_after_one_attempt() {
    // Given a job of a kind that the version of its day handled,
    let platform = Platform::start().await;
    platform
        .publish("images", cofferdam_testkit::components::component("misbehave"), <_>::default())
        .await;
    let id = platform.submit("images/echo", "null").await;

    // when another version without the kind becomes current before the job runs,
    platform
        .publish("images", cofferdam_testkit::components::component("markdown"), <_>::default())
        .await;
    let worker = platform.worker(Platform::quick()).await;

    // then the job says so, once.
    let job = platform.ended(id).await;
    assert_eq!(job.state, JobState::Failed);
    assert_eq!(job.errors.len(), 1);
    assert_eq!(job.errors[0].class, FailureClass::NotRunnable);
    assert_eq!(job.errors[0].code, "unknown-kind");
    assert_eq!(job.errors[0].message, "`images` does not handle `echo`");
    stop(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_may_snooze_without_spending_an_attempt() {
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let worker = platform.worker(Platform::quick()).await;

    let mut job = new_job("misbehave/snooze", "null");
    job.options.max_attempts = Some(1);
    let job = platform.ended(platform.submit_job(job).await).await;

    assert_eq!(job.state, JobState::Completed);
    assert_eq!(job.counters.attempts, 0, "a success and a snooze are no failures");
    assert_eq!(platform.output(job.id).await, b"awake");
    let snoozed = ("snoozed".to_owned(), "too early".to_owned());
    assert_eq!(platform.attempts(job.id).await, [snoozed]);
    stop(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_outlives_the_attempt_that_kept_it() {
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let worker = platform.worker(Platform::quick()).await;

    let mut job = new_job("misbehave/checkpoint-resume", "null");
    job.options.backoff = Some(Backoff::None);
    let job = platform.ended(platform.submit_job(job).await).await;

    assert_eq!(job.state, JobState::Completed);
    assert_eq!(platform.output(job.id).await, b"kept by attempt 1");
    assert_eq!(job.errors.len(), 1);
    stop(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_job_is_retried_until_it_succeeds() {
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let worker = platform.worker(WorkerSettings { slots: 1, ..Platform::quick() }).await;

    let mut job = new_job("misbehave/fail-until", r#"{"attempt": 3}"#);
    job.options.backoff = Some(Backoff::Constant(Duration::from_millis(100)));
    let job = platform.ended(platform.submit_job(job).await).await;

    assert_eq!(job.state, JobState::Completed);
    assert_eq!(platform.output(job.id).await, b"3");
    let codes: Vec<_> = job.errors.iter().map(|error| error.code.as_str()).collect();
    assert_eq!(codes, ["not-yet", "not-yet"]);
    stop(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_grows_for_ever_ends_its_job() {
    let platform = Platform::start().await;
    let tables = support::handler(include_str!("fixtures/table.wat"));
    platform.publish("tables", tables, <_>::default()).await;
    let worker = platform.worker(Platform::quick()).await;

    let job = platform.ended(platform.submit("tables/grow-table", "null").await).await;

    let expected = Expected {
        kind: "grow-table",
        state: JobState::Failed,
        class: FailureClass::Table,
        code: "table-limit",
        attempts: 1,
        message: "table",
    };
    assert_eq!(mismatch(&expected, &job), None, "{:?}", job.errors.last());
    stop(worker).await;
}
