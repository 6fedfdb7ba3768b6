//! Host code that blocks a guest thread: the one thing that nothing can interrupt.

use crate::support::{
    Guest, PATIENCE, Recorder, attempt, attempt_for, failure, finish, handler, output, prepare,
    sandbox, until,
};
use cofferdam_core::class::FailureClass;
use cofferdam_sandbox::{KillReason, Prepared, Reins, Running, Sandbox};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// How long a turn must last here to count. A tick is a thousandth of a second.
const LIMIT: Duration = Duration::from_millis(500);

/// Reports its progress, then answers.
fn reporter() -> Vec<u8> {
    Guest {
        imports: r#"(import "cofferdam:job/control@0.1.0" "progress"
            (func $progress (param i32 i32 i32)))"#,
        handle: "(call $progress (i32.const 1) (i32.const 0) (i32.const 0))
                 (call $ok_number (i64.const 0))",
        ..Guest::default()
    }
    .component()
}

/// An attempt that has blocked its thread, and what sets it free.
async fn blocked(sandbox: &Sandbox, prepared: &Prepared) -> (Running, Sender<()>) {
    let host = Arc::new(Recorder::default());
    let open = host.block();
    let running = sandbox.run(prepared, attempt_for(&host, b""));
    host.reached.notified().await;
    (running, open)
}

/// S7, S91: a host function that never returns is seen and named, its thread is replaced, and
/// new attempts run meanwhile.
#[tokio::test]
async fn a_thread_that_is_lost_in_a_host_call_is_replaced() {
    // Given the only guest thread, blocked by host code, and another attempt behind it,
    let sandbox = sandbox(1);
    let prepared = prepare(&sandbox, &reporter());
    let (running, open) = blocked(&sandbox, &prepared).await;
    let behind = sandbox.run(&prepared, attempt(b""));

    // when that has lasted too long, then the thread is found, with what it is in,
    until(|| !sandbox.stuck(LIMIT).is_empty()).await;
    let stuck = sandbox.stuck(LIMIT).remove(0);
    assert!(stuck.since >= LIMIT, "{stuck:?}");
    assert_eq!(stuck.attempts, 2);
    assert_eq!(stuck.host_call.as_deref(), Some("cofferdam:job/control.progress"));
    assert!(running.kill.stuck_for() >= LIMIT);
    assert!(behind.kill.stuck_for() >= LIMIT);

    // it is replaced once,
    assert!(sandbox.replace(stuck.thread).unwrap());
    assert!(!sandbox.replace(stuck.thread).unwrap());
    assert_eq!(sandbox.stuck(LIMIT), []);
    let status = sandbox.status();
    assert_eq!((status.threads, status.leaked_threads, status.leaked_attempts), (1, 1, 2));

    // and new attempts run, while a kill of the old ones does not get through.
    running.kill.kill(KillReason::Cancelled);
    for _ in 0..4 {
        output(finish(sandbox.run(&prepared, attempt(b"")).outcome()).await);
    }
    assert_eq!(sandbox.status().leaked_attempts, 2);

    // Should the call ever return, then its attempts end without an outcome to write,
    drop(open);
    failure(finish(running.outcome()).await, FailureClass::Lost);
    failure(finish(behind.outcome()).await, FailureClass::Lost);
    // and so does the thread.
    until(|| sandbox.status().leaked_threads == 0).await;
    assert_eq!(sandbox.status().leaked_attempts, 0);
    assert_eq!(sandbox.status().running, 0);
    assert_eq!(sandbox.status().threads, 1);
}

#[tokio::test]
async fn a_thread_that_has_come_back_is_not_replaced() {
    // Given a thread that was found stuck,
    let sandbox = sandbox(1);
    let prepared = prepare(&sandbox, &reporter());
    let (running, open) = blocked(&sandbox, &prepared).await;
    until(|| !sandbox.stuck(LIMIT).is_empty()).await;
    let stuck = sandbox.stuck(LIMIT).remove(0);
    // when it comes back before it is replaced, then it stays, and its attempt completes.
    drop(open);
    output(finish(running.outcome()).await);
    until(|| sandbox.status().longest_turn == Duration::ZERO).await;
    assert!(!sandbox.replace(stuck.thread).unwrap());
    assert_eq!(sandbox.status().leaked_threads, 0);
}

#[tokio::test]
async fn new_attempts_keep_away_from_a_thread_that_may_not_come_back() {
    // Given two threads, of which one is blocked and the other has more to do,
    let sandbox = sandbox(2);
    let prepared = prepare(&sandbox, &reporter());
    let (stuck, open) = blocked(&sandbox, &prepared).await;
    until(|| !sandbox.stuck(LIMIT).is_empty()).await;
    let waiting = Arc::new(Recorder::default());
    waiting.stuck.store(true, Ordering::SeqCst);
    let parked = prepare(&sandbox, &parked());
    let crowd: Vec<_> = (0..3).map(|_| sandbox.run(&parked, attempt_for(&waiting, b""))).collect();
    // when another arrives, then it runs, although the blocked thread has fewer attempts.
    output(finish(sandbox.run(&prepared, attempt(b"")).outcome()).await);
    assert_eq!(sandbox.stuck(LIMIT).remove(0).attempts, 1);
    drop((crowd, open));
    output(finish(stuck.outcome()).await);
}

/// Waits in the host.
fn parked() -> Vec<u8> {
    Guest {
        imports: r#"(import "cofferdam:job/control@0.1.0" "checkpoint"
            (func $checkpoint (param i32 i32 i32)))"#,
        handle: "(call $checkpoint (i32.const 0) (i32.const 0) (i32.const 256)) (unreachable)",
        ..Guest::default()
    }
    .component()
}

#[tokio::test]
async fn guests_that_spin_or_wait_are_not_stuck() {
    // Given a guest that spins, and one that waits for the host,
    let sandbox = sandbox(1);
    let spinner = prepare(&sandbox, &handler("", "(loop $l (br $l)) (unreachable)"));
    let waiter = prepare(&sandbox, &parked());
    let host = Arc::new(Recorder::default());
    host.stuck.store(true, Ordering::SeqCst);
    let running =
        [sandbox.run(&spinner, attempt(b"")), sandbox.run(&waiter, attempt_for(&host, b""))];
    tokio::time::timeout(PATIENCE, host.reached.notified()).await.unwrap();
    // when that has lasted for long, then nothing is stuck: the thread is out again each tick.
    let (limit, seen) = (4 * LIMIT, Instant::now());
    until(|| {
        assert_eq!(sandbox.stuck(limit), []);
        seen.elapsed() > limit + LIMIT
    })
    .await;
    drop(running);
}
