//! Ending attempts from outside.

use crate::support::{
    Guest, Recorder, attempt, attempt_for, failure, finish, handler, prepare, sandbox, until,
};
use cofferdam_core::class::FailureClass;
use cofferdam_sandbox::KillReason;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const LATE: Duration = Duration::from_secs(5);

fn spinner() -> Vec<u8> {
    // It says that it runs, then spins.
    Guest {
        imports: r#"(import "cofferdam:job/control@0.1.0" "checkpoint"
            (func $checkpoint (param i32 i32 i32)))"#,
        handle: "(call $checkpoint (i32.const 0) (i32.const 0) (i32.const 256))
                 (loop $l (br $l)) (unreachable)",
        ..Guest::default()
    }
    .component()
}

#[tokio::test]
async fn each_reason_has_its_class() {
    let sandbox = sandbox(1);
    let prepared = prepare(&sandbox, &spinner());
    for (reason, class, code) in [
        (KillReason::Cancelled, FailureClass::Cancelled, "cancelled"),
        (KillReason::LeaseLost, FailureClass::Lost, "lease-lost"),
        (KillReason::Shutdown, FailureClass::Released, "shutdown"),
    ] {
        // Given a guest that spins
        let host = Arc::new(Recorder::default());
        let running = sandbox.run(&prepared, attempt_for(&host, b""));
        host.reached.notified().await;
        // when it is killed, and killed again for another reason
        let killed = Instant::now();
        running.kill.kill(reason);
        running.kill.kill(KillReason::Cancelled);
        // then it is dead at once, and the first reason is the one that counts.
        let failed = failure(finish(running.outcome()).await, class);
        assert_eq!(failed.code, code);
        assert!(killed.elapsed() < LATE, "{:?}", killed.elapsed());
    }
}

#[tokio::test]
async fn a_guest_that_waits_for_the_host_is_killed() {
    let sandbox = sandbox(1);
    let prepared = prepare(&sandbox, &spinner());
    let host = Arc::new(Recorder::default());
    host.stuck.store(true, Ordering::SeqCst);
    let running = sandbox.run(&prepared, attempt_for(&host, b""));
    host.reached.notified().await;
    running.kill.kill(KillReason::Cancelled);
    failure(finish(running.outcome()).await, FailureClass::Cancelled);
}

#[tokio::test]
async fn an_attempt_killed_before_its_first_turn_ends() {
    let sandbox = sandbox(1);
    let prepared = prepare(&sandbox, &spinner());
    let running = sandbox.run(&prepared, attempt(b""));
    running.kill.kill(KillReason::LeaseLost);
    failure(finish(running.outcome()).await, FailureClass::Lost);
}

#[tokio::test]
async fn one_of_many_runaways_dies_without_its_turn() {
    let sandbox = sandbox(1);
    let prepared = prepare(&sandbox, &handler("", "(loop $l (br $l)) (unreachable)"));
    let mut runaways: Vec<_> = (0..32).map(|_| sandbox.run(&prepared, attempt(b""))).collect();
    let one = runaways.remove(17);
    let killed = Instant::now();
    one.kill.kill(KillReason::Cancelled);
    failure(finish(one.outcome()).await, FailureClass::Cancelled);
    assert!(killed.elapsed() < LATE, "{:?}", killed.elapsed());
    assert_eq!(sandbox.status().running, 31);
    for runaway in &runaways {
        runaway.kill.kill(KillReason::Shutdown);
    }
    for runaway in runaways {
        failure(finish(runaway.outcome()).await, FailureClass::Released);
    }
}

#[tokio::test]
async fn an_attempt_that_nobody_waits_for_is_killed() {
    let sandbox = sandbox(1);
    let prepared = prepare(&sandbox, &spinner());
    drop(sandbox.run(&prepared, attempt(b"")));
    until(|| sandbox.status().running == 0).await;
}

#[tokio::test]
async fn attempts_end_when_the_sandbox_goes() {
    let sandbox = sandbox(2);
    let prepared = prepare(&sandbox, &spinner());
    let running: Vec<_> = (0..4).map(|_| sandbox.run(&prepared, attempt(b""))).collect();
    drop(sandbox);
    for running in running {
        failure(finish(running.outcome()).await, FailureClass::Released);
    }
}

#[tokio::test]
async fn killing_what_has_ended_does_nothing() {
    let sandbox = sandbox(1);
    let prepared = prepare(&sandbox, &Guest::default().component());
    let running = sandbox.run(&prepared, attempt(b"hello"));
    let kill = running.kill.clone();
    let outcome = finish(running.outcome()).await;
    kill.kill(KillReason::Cancelled);
    assert_eq!(crate::support::output(outcome), b"hello");
    let again = finish(sandbox.run(&prepared, attempt(b"again")).outcome()).await;
    assert_eq!(crate::support::output(again), b"again");
}
