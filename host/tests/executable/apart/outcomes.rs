//! An attempt apart ends as it would have in the worker's own process.

use super::{Case, apart, failure, finish, run};
use cofferdam_core::class::FailureClass;
use cofferdam_core::outcome::{End, Outcome};
use cofferdam_sandbox::{Attempt, Sandbox, SandboxSettings};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// The kinds of `misbehave` whose end is the same every time.
fn cases() -> Vec<Case> {
    let mut cases: Vec<_> = [
        "echo",
        "error",
        "retry-after",
        "permanent",
        "panic",
        "abort",
        "exit",
        "look-around",
        "fuel",
        "allocate",
        "recurse",
        "flood-output",
        "flood-log",
        "no-such-kind",
    ]
    .map(Case::of)
    .into();
    for case in &mut cases {
        // As the kinds ask for it.
        case.limits.fuel = if case.kind == "fuel" { 1_000_000 } else { case.limits.fuel };
        case.limits.memory_bytes = 64 << 20;
    }
    cases.push(Case { input: b"\0\xff of any kind", ..Case::of("echo") });
    cases
}

async fn here(sandbox: &Sandbox, component: &[u8], attempt: Attempt) -> Outcome {
    let prepared = sandbox.compile(component).unwrap();
    sandbox.run(&prepared, attempt).outcome().await
}

#[tokio::test]
async fn every_end_is_the_same_as_in_the_worker_s_own_process() {
    // Given a kind for each way in which an attempt can end, run in this process
    let component = cofferdam_testkit::component("misbehave");
    let sandbox = Sandbox::start(SandboxSettings::default(), Handle::current()).unwrap();
    let prepared = sandbox.compile(&component).unwrap();
    for case in cases() {
        let expected = sandbox.run(&prepared, case.attempt()).outcome().await;
        // when it runs in a process of its own
        let apart = Case { host: Arc::default(), ..case };
        let outcome = finish(apart.start().await).await;
        // then it ends the same, backtrace and all, and has used the same.
        assert_eq!(outcome.end, expected.end, "{}", apart.kind);
        assert_eq!(outcome.usage.fuel, expected.usage.fuel, "{}", apart.kind);
        let (theirs, ours) = (outcome.usage, expected.usage);
        assert_eq!(
            (theirs.peak_memory_bytes, theirs.log_bytes, theirs.output_bytes),
            (ours.peak_memory_bytes, ours.log_bytes, ours.output_bytes),
            "{}",
            apart.kind
        );
    }
}

#[tokio::test]
async fn the_log_is_the_same_as_in_the_worker_s_own_process() {
    // Given a guest that logs more than is kept
    let component = cofferdam_testkit::component("misbehave");
    let sandbox = Sandbox::start(SandboxSettings::default(), Handle::current()).unwrap();
    for kind in ["flood-log", "flood-stdout", "panic"] {
        let expected = Case::of(kind);
        here(&sandbox, &component, expected.attempt()).await;
        // when it runs in a process of its own
        let apart = Case::of(kind);
        finish(apart.start().await).await;
        // then the same lines are kept, and the same are counted.
        assert!(!expected.host.log().is_empty());
        assert_eq!(apart.host.log(), expected.host.log(), "{kind}");
    }
}

#[tokio::test]
async fn a_command_gets_its_arguments_and_its_input() {
    // Given a program
    let case = Case { input: b"to be or not to be", ..Case::of("run") };
    let attempt = Attempt { args: vec!["--top=2".to_owned()], ..case.attempt() };
    // when it runs in a process of its own
    let outcome =
        finish(run(&apart(), cofferdam_testkit::component("wordcount"), attempt).await).await;
    // then it has counted.
    let End::Completed(output) = outcome.end else { panic!("{outcome:?}") };
    let output = String::from_utf8(output).unwrap();
    assert!(output.contains("\"be\"") && output.contains("\"to\""), "{output}");
}

#[tokio::test]
async fn checkpoints_are_kept_and_come_back() {
    // Given an attempt that kept a checkpoint and panicked
    let first = Case::of("checkpoint-resume");
    failure(finish(first.start().await).await, FailureClass::Trap, "unreachable");
    let kept = first.host.checkpoints.lock().unwrap().clone();
    assert_eq!(kept, [b"kept by attempt 1".to_vec()]);
    // when the next one is given it
    let next = Case { checkpoint: kept.first().cloned(), ..Case::of("checkpoint-resume") };
    let outcome = finish(next.start().await).await;
    // then it goes on from there.
    assert_eq!(outcome.end, End::Completed(b"kept by attempt 1".to_vec()));
}

#[tokio::test]
async fn the_deadline_counts_from_when_the_guest_starts() {
    // Given guests that run, or wait, for longer than they may, and less time than compiling takes
    let deadline = Duration::from_millis(200);
    for kind in ["spin", "sleep"] {
        // when they run in processes of their own
        let outcome = finish(Case::of(kind).hurried(deadline).start().await).await;
        // then each had its whole time, and no more.
        let wall = Duration::from_micros(outcome.usage.wall_micros);
        let failed = failure(outcome, FailureClass::Deadline, "deadline");
        assert!(failed.message.contains("its deadline of 200ms while it"), "{}", failed.message);
        let most = deadline + super::LATE;
        assert!((deadline / 2..most).contains(&wall), "{kind}: {wall:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_compiled_is_the_component_s_fault() {
    let outcome =
        finish(run(&apart(), b"no component".to_vec(), Case::of("echo").attempt()).await).await;
    match outcome.end {
        End::Failed(failure) => assert_eq!(failure.class, FailureClass::NotRunnable, "{failure:?}"),
        End::Completed(output) => panic!("it completed with {output:?}"),
    }
}
