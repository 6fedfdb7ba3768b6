//! No attempt outlives its deadline, wherever it is.

use crate::support::{
    Guest, PATIENCE, Recorder, attempt, attempt_for, failure, finish, handler, hurried, output,
    prepare, run, sandbox,
};
use cofferdam_core::class::FailureClass;
use cofferdam_sandbox::Attempt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(100);

/// Far more than a kill takes, and far less than a guest that is never killed.
const LATE: Duration = Duration::from_secs(5);

const SPIN: &str = "(call $spin)";
const SPINNER: &str = "(func $spin (result i32) (loop $l (br $l)) (unreachable))";

#[tokio::test]
async fn a_runaway_dies_in_its_own_code() {
    let started = Instant::now();
    let outcome = run(&handler(SPINNER, SPIN), hurried(SHORT)).await;
    assert!(started.elapsed() < LATE, "{:?}", started.elapsed());
    assert!(outcome.usage.cpu_micros > 10_000, "{:?}", outcome.usage);
    let failed = failure(outcome, FailureClass::Deadline);
    assert_eq!(failed.message, "the attempt passed its deadline of 100ms while it ran guest code");
    assert_eq!(failed.backtrace, "spin\nhandle");
}

#[tokio::test]
async fn runaways_in_a_crowd_die_in_time_and_say_where_they_were() {
    // Given 32 runaways on one thread
    let sandbox = sandbox(1);
    let prepared = prepare(&sandbox, &handler(SPINNER, SPIN));
    // Long enough for each to have a turn before, on a machine that does much else.
    let deadline = Instant::now() + 20 * SHORT;
    let runaways: Vec<_> =
        (0..32).map(|_| sandbox.run(&prepared, Attempt { deadline, ..attempt(b"") })).collect();
    // when their common deadline passes, then all are dead soon after, without a turn each,
    for runaway in runaways {
        let failed = failure(finish(runaway.outcome()).await, FailureClass::Deadline);
        // and the place is known although they were suspended when they died.
        assert_eq!(failed.backtrace, "spin\nhandle");
    }
    assert!(deadline.elapsed() < LATE, "{:?}", deadline.elapsed());
    assert_eq!(sandbox.status().running, 0);
}

#[tokio::test]
async fn a_runaway_dies_while_it_starts() {
    // Given a component that spins in its start function, before any call
    let guest = handler("(func $forever (loop $l (br $l))) (start $forever)", "(unreachable)");
    let failed = failure(run(&guest, hurried(SHORT)).await, FailureClass::Deadline);
    assert!(failed.backtrace.contains("forever"), "{}", failed.backtrace);
}

#[tokio::test]
async fn a_guest_that_waits_for_the_host_dies_too() {
    let guest = Guest {
        imports: r#"(import "cofferdam:job/control@0.1.0" "checkpoint"
            (func $checkpoint (param i32 i32 i32)))"#,
        handle: "(call $checkpoint (i32.const 0) (i32.const 0) (i32.const 256)) (unreachable)",
        ..Guest::default()
    };
    let host = Arc::new(Recorder::default());
    host.stuck.store(true, Ordering::SeqCst);
    let attempt = Attempt { host: host as _, ..hurried(SHORT) };
    let started = Instant::now();
    let failed = failure(run(&guest.component(), attempt).await, FailureClass::Deadline);
    assert!(started.elapsed() < LATE, "{:?}", started.elapsed());
    assert!(failed.message.contains("control.checkpoint"), "{}", failed.message);
}

/// Sleeps for the nanoseconds that are its input, then answers.
fn sleeper() -> Vec<u8> {
    Guest {
        imports: r#"
            (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration"
                (func $after (param i64) (result i32)))
            (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))"#,
        handle: "(call $block (call $after (i64.load (call $input_ptr (local.get $args)))))
                 (call $ok_number (i64.const 1))",
        ..Guest::default()
    }
    .component()
}

#[tokio::test]
async fn a_guest_may_sleep() {
    let started = Instant::now();
    let millis_50 = 50_000_000_u64.to_le_bytes();
    let outcome = run(&sleeper(), attempt(&millis_50)).await;
    assert!(started.elapsed() >= Duration::from_millis(50));
    assert!(outcome.usage.wall_micros >= 50_000, "{:?}", outcome.usage);
    assert!(outcome.usage.cpu_micros < outcome.usage.wall_micros, "{:?}", outcome.usage);
    output(outcome);
}

#[tokio::test]
async fn a_guest_that_sleeps_too_long_dies() {
    let hour = 3_600_000_000_000_u64.to_le_bytes();
    let attempt = Attempt { deadline: Instant::now() + SHORT, ..attempt(&hour) };
    let started = Instant::now();
    let failed = failure(run(&sleeper(), attempt).await, FailureClass::Deadline);
    assert!(started.elapsed() < LATE, "{:?}", started.elapsed());
    assert!(failed.message.contains("WASI call"), "{}", failed.message);
}

#[tokio::test]
async fn a_deadline_that_has_passed_before_the_first_turn_is_kept() {
    let attempt = Attempt { deadline: Instant::now(), ..attempt(b"") };
    let outcome = run(&Guest::default().component(), attempt).await;
    failure(outcome, FailureClass::Deadline);
}

#[tokio::test]
async fn a_guest_may_ask_for_more_time() {
    // Given a guest that asks for more time and then sleeps past its first deadline
    let guest = Guest {
        imports: r#"
            (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration"
                (func $after (param i64) (result i32)))
            (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
            (import "cofferdam:job/control@0.1.0" "extend-deadline"
                (func $extend (param i64 i32)))
            (import "cofferdam:job/control@0.1.0" "remaining-ms" (func $remaining (result i64)))"#,
        handle: "(call $extend (i64.const 60000) (i32.const 256))
                 (call $block (call $after (i64.const 1500000000)))
                 (call $ok_number (call $remaining))",
        ..Guest::default()
    }
    .component();
    let host = Arc::new(Recorder::default());
    *host.grants.lock().unwrap() = Some(PATIENCE);
    let attempt =
        Attempt { deadline: Instant::now() + Duration::from_secs(1), ..attempt_for(&host, b"") };
    // when the host grants it, then the guest ends in its own time.
    let remaining = output(run(&guest, attempt).await);
    let remaining = u64::from_le_bytes(remaining.try_into().unwrap());
    assert!((1..60_000).contains(&remaining), "{remaining}");
}

#[tokio::test]
async fn an_extension_counts_from_when_it_was_asked_for() {
    // Given a database that takes its time to answer
    let slowness = Duration::from_millis(500);
    let host = Arc::new(Recorder::default());
    *host.grants.lock().unwrap() = Some(PATIENCE);
    *host.slowness.lock().unwrap() = slowness;
    // when a guest asks for more time, and is told how much there is
    let guest = Guest {
        imports: r#"
            (import "cofferdam:job/control@0.1.0" "extend-deadline"
                (func $extend (param i64 i32)))
            (import "cofferdam:job/control@0.1.0" "remaining-ms" (func $remaining (result i64)))"#,
        items: "(func $most (param i64 i64) (result i64)
            (select (local.get 0) (local.get 1) (i64.gt_u (local.get 0) (local.get 1))))",
        handle: "(call $extend (i64.const 60000) (i32.const 256))
                 (call $ok_number (call $most (i64.load (i32.const 264)) (call $remaining)))",
        ..Guest::default()
    }
    .component();
    let remaining = output(run(&guest, attempt_for(&host, b"")).await);
    let remaining = u64::from_le_bytes(remaining.try_into().unwrap());
    // then the time that the answer took is gone: the lease may have counted it.
    let most = u64::try_from(PATIENCE.saturating_sub(slowness).as_millis()).unwrap();
    assert!((1..=most).contains(&remaining), "{remaining}");
}

#[tokio::test]
async fn an_honest_guest_gets_its_turns_beside_runaways() {
    // Given 32 runaways on the one thread
    let sandbox = sandbox(1);
    let spinner = prepare(&sandbox, &handler(SPINNER, SPIN));
    let honest = prepare(&sandbox, &Guest::default().component());
    let runaways: Vec<_> = (0..32).map(|_| sandbox.run(&spinner, attempt(b""))).collect();
    // when an honest guest comes last, then it finishes all the same.
    let started = Instant::now();
    let outcome = finish(sandbox.run(&honest, attempt(b"hello")).outcome()).await;
    assert_eq!(output(outcome), b"hello");
    assert!(started.elapsed() < LATE, "{:?}", started.elapsed());
    assert_eq!(sandbox.status().running, 32);
    drop(runaways);
}
