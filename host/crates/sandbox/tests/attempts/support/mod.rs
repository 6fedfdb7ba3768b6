//! Guests, hosts and shorthands for the tests.

mod guest;
mod host;

pub(crate) use guest::{Guest, command, core_module, handler};
pub(crate) use host::Recorder;

use cofferdam_core::class::FailureClass;
use cofferdam_core::limits::Limits;
use cofferdam_core::outcome::{End, Failure, Outcome};
use cofferdam_sandbox::{Attempt, JobInfo, Prepared, Sandbox, SandboxSettings};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longer than any attempt of these tests should take on a machine that does much else.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A sandbox with this many guest threads.
pub(crate) fn sandbox(threads: usize) -> Sandbox {
    sandbox_with(SandboxSettings { threads, slots: 64, ..SandboxSettings::default() })
}

pub(crate) fn sandbox_with(settings: SandboxSettings) -> Sandbox {
    Sandbox::start(settings, tokio::runtime::Handle::current()).unwrap()
}

/// An attempt with this input, the default limits and plenty of time.
pub(crate) fn attempt(input: &[u8]) -> Attempt {
    attempt_for(&Arc::new(Recorder::default()), input)
}

/// The same with a host to look at afterwards.
pub(crate) fn attempt_for(host: &Arc<Recorder>, input: &[u8]) -> Attempt {
    Attempt {
        info: JobInfo { id: "job-1".to_owned(), kind: "echo".to_owned(), ..JobInfo::default() },
        input: input.to_vec(),
        args: Vec::new(),
        env: Vec::new(),
        limits: Limits::default(),
        deadline: Instant::now() + PATIENCE,
        lease_until: None,
        last_checkpoint: None,
        resumed: None,
        host: Arc::clone(host) as _,
    }
}

/// The same with other limits.
pub(crate) fn limited(limits: Limits) -> Attempt {
    Attempt { limits, ..attempt(b"") }
}

/// The same with less time.
pub(crate) fn hurried(time: Duration) -> Attempt {
    let limits = Limits { deadline: time, ..Limits::default() };
    Attempt { deadline: Instant::now() + time, ..limited(limits) }
}

/// Compiles a guest.
pub(crate) fn prepare(sandbox: &Sandbox, component: &[u8]) -> Prepared {
    sandbox.compile(component).unwrap_or_else(|error| panic!("{error}: {error:?}"))
}

/// Runs one attempt of a guest in a sandbox of its own. The time to prepare that is not the
/// attempt's.
pub(crate) async fn run(component: &[u8], mut attempt: Attempt) -> Outcome {
    let started = Instant::now();
    let sandbox = sandbox(1);
    let prepared = prepare(&sandbox, component);
    let preparing = started.elapsed();
    attempt.deadline += preparing;
    attempt.lease_until = attempt.lease_until.map(|until| until + preparing);
    finish(sandbox.run(&prepared, attempt).outcome()).await
}

/// Waits for an outcome, but not for ever.
pub(crate) async fn finish(outcome: impl Future<Output = Outcome>) -> Outcome {
    tokio::time::timeout(2 * PATIENCE, outcome).await.expect("the outcome resolves")
}

/// Waits until something is so, but not for ever.
pub(crate) async fn until(is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "it never came to be so");
        tokio::task::yield_now().await;
    }
}

/// The output of an attempt that must have succeeded.
pub(crate) fn output(outcome: Outcome) -> Vec<u8> {
    match outcome.end {
        End::Completed(bytes) => bytes,
        End::Failed(failure) => panic!("{failure:?}"),
    }
}

/// The failure of an attempt that must have failed so.
pub(crate) fn failure(outcome: Outcome, class: FailureClass) -> Failure {
    match outcome.end {
        End::Failed(failure) if failure.class == class => failure,
        other => panic!("expected {class}, got {other:?}"),
    }
}
