//! No attempt outlives its lease, and its own thread sees to it.

use crate::support::{
    Guest, PATIENCE, Recorder, attempt, attempt_for, failure, finish, handler, output, prepare,
    run, sandbox, sandbox_with, until,
};
use cofferdam_core::class::FailureClass;
use cofferdam_core::outcome::Outcome;
use cofferdam_sandbox::{Attempt, Reins, SandboxSettings};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(100);

/// Far more than an end takes, and far less than a guest that is never ended.
const LATE: Duration = Duration::from_secs(5);

const SPIN: &str = "(loop $l (br $l)) (unreachable)";

fn leased(attempt: Attempt, time: Duration) -> Attempt {
    Attempt { lease_until: Some(Instant::now() + time), ..attempt }
}

fn assert_lost(outcome: Outcome) {
    let failed = failure(outcome, FailureClass::Lost);
    assert_eq!(failed.code, "lease-lost", "{failed:?}");
}

#[tokio::test]
async fn a_guest_that_spins_dies_with_its_lease() {
    // Given a guest that never waits and a deadline that is far off,
    let started = Instant::now();
    // when its lease is over, then it is over as well, and nobody had to say so.
    assert_lost(run(&handler("", SPIN), leased(attempt(b""), SHORT)).await);
    assert!(started.elapsed() < LATE, "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_guest_that_waits_for_the_host_dies_with_its_lease() {
    let guest = Guest {
        imports: r#"(import "cofferdam:job/control@0.1.0" "checkpoint"
            (func $checkpoint (param i32 i32 i32)))"#,
        handle: "(call $checkpoint (i32.const 0) (i32.const 0) (i32.const 256)) (unreachable)",
        ..Guest::default()
    };
    let host = Arc::new(Recorder::default());
    host.stuck.store(true, Ordering::SeqCst);
    let started = Instant::now();
    assert_lost(run(&guest.component(), leased(attempt_for(&host, b""), SHORT)).await);
    assert!(started.elapsed() < LATE, "{:?}", started.elapsed());
}

#[tokio::test]
async fn an_attempt_whose_lease_ends_before_its_first_turn_never_runs() {
    // Given a thread that has much to do,
    let sandbox = sandbox(1);
    let spinner = prepare(&sandbox, &handler("", SPIN));
    let runaways: Vec<_> = (0..16).map(|_| sandbox.run(&spinner, attempt(b""))).collect();
    // when an attempt arrives whose lease is over,
    let echo = prepare(&sandbox, &Guest::default().component());
    let outcome =
        finish(sandbox.run(&echo, leased(attempt(b"late"), Duration::ZERO)).outcome()).await;
    // then it is ended without a turn.
    assert_eq!(outcome.usage.cpu_micros, 0, "{:?}", outcome.usage);
    assert_lost(outcome);
    drop(runaways);
}

#[tokio::test]
async fn a_lease_that_is_over_comes_before_a_deadline_that_has_passed() {
    // Given a process that was stopped for so long that both have passed,
    let now = Instant::now();
    let attempt = Attempt { deadline: now, lease_until: Some(now), ..attempt(b"") };
    // then the attempt ends as one whose outcome nobody may write.
    assert_lost(run(&Guest::default().component(), attempt).await);
}

/// Waits for the nanoseconds that are its input, then answers.
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

fn nanos(duration: Duration) -> [u8; 8] {
    u64::try_from(duration.as_nanos()).unwrap().to_le_bytes()
}

#[tokio::test]
async fn a_renewed_lease_lives_on() {
    // Given a guest that waits for longer than its lease is good,
    let sandbox = sandbox(1);
    let prepared = prepare(&sandbox, &sleeper());
    let lease = Duration::from_secs(1);
    let running = sandbox.run(&prepared, leased(attempt(&nanos(lease * 3 / 2)), lease));
    // when the lease is renewed, then the guest ends in its own time.
    running.kill.renew_lease(Instant::now() + PATIENCE);
    output(finish(running.outcome()).await);
}

#[tokio::test]
async fn a_renewed_lease_ends_later() {
    // Given a guest that spins, whose lease was renewed once,
    let sandbox = sandbox(1);
    let prepared = prepare(&sandbox, &handler("", SPIN));
    let running = sandbox.run(&prepared, leased(attempt(b""), Duration::from_secs(1)));
    let until = Instant::now() + Duration::from_millis(1500);
    running.kill.renew_lease(until);
    // then it dies when the renewed lease is over, and neither before nor much later.
    assert_lost(finish(running.outcome()).await);
    assert!(Instant::now() >= until);
    assert!(until.elapsed() < LATE, "{:?}", until.elapsed());
}

#[tokio::test]
async fn no_renewal_makes_a_lease_shorter() {
    // Given a lease that is good for long,
    let sandbox = sandbox(1);
    let prepared = prepare(&sandbox, &sleeper());
    let running = sandbox.run(&prepared, leased(attempt(&nanos(SHORT)), PATIENCE));
    // when the answer to an early heartbeat comes late, then it stays as good as it was.
    running.kill.renew_lease(Instant::now());
    output(finish(running.outcome()).await);
}

/// What a guest may do that is seen outside, as its last act.
const EFFECTS: [(&str, &str); 6] = [
    ("log", "(call $log (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 0))"),
    ("progress", "(call $progress (i32.const 99) (i32.const 0) (i32.const 0))"),
    ("checkpoint", "(call $checkpoint (i32.const 0) (i32.const 1) (i32.const 256))"),
    ("extend-deadline", "(call $extend (i64.const 1000) (i32.const 256))"),
    (
        "standard output",
        "(call $write (call $get_stdout) (i32.const 1024) (i32.const 4) (i32.const 256))",
    ),
    (
        "standard error",
        "(call $write (call $get_stderr) (i32.const 1024) (i32.const 4) (i32.const 256))",
    ),
];

/// Reports its progress, then has that effect.
fn with_effect(effect: &str) -> Vec<u8> {
    Guest {
        imports: r#"
            (import "cofferdam:job/log@0.1.0" "log" (func $log (param i32 i32 i32 i32 i32)))
            (import "cofferdam:job/control@0.1.0" "progress"
                (func $progress (param i32 i32 i32)))
            (import "cofferdam:job/control@0.1.0" "checkpoint"
                (func $checkpoint (param i32 i32 i32)))
            (import "cofferdam:job/control@0.1.0" "extend-deadline"
                (func $extend (param i64 i32)))
            (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $get_stdout (result i32)))
            (import "wasi:cli/stderr@0.2.0" "get-stderr" (func $get_stderr (result i32)))
            (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
                (func $write (param i32 i32 i32 i32)))"#,
        handle: &format!(
            "(call $progress (i32.const 1) (i32.const 0) (i32.const 0))
             {effect}
             (call $ok_number (i64.const 0))"
        ),
        ..Guest::default()
    }
    .component()
}

#[tokio::test]
async fn a_guest_without_its_lease_has_no_effects() {
    // Given guests that are held up in a host call, one on each thread, where no tick can end
    // them first,
    let settings = SandboxSettings {
        threads: EFFECTS.len(),
        slots: 16,
        tick: Duration::from_hours(1),
        ..SandboxSettings::default()
    };
    let sandbox = sandbox_with(settings);
    let prepared = EFFECTS.map(|(_, effect)| prepare(&sandbox, &with_effect(effect)));
    let lease_until = Instant::now() + Duration::from_secs(2);
    let mut held_up = Vec::new();
    for prepared in &prepared {
        let host = Arc::new(Recorder::default());
        let open = host.block();
        let lease = Attempt { lease_until: Some(lease_until), ..attempt_for(&host, b"") };
        let running = sandbox.run(prepared, lease);
        host.reached.notified().await;
        held_up.push((running, host, open));
    }
    // when they come back after their leases are over, and want one thing more,
    until(|| Instant::now() >= lease_until).await;
    for ((running, host, open), (name, _)) in held_up.into_iter().zip(EFFECTS) {
        drop(open);
        // then they do not get it: the call itself refuses.
        assert_lost(finish(running.outcome()).await);
        assert_eq!(host.progress.lock().unwrap().len(), 1, "{name}");
        assert_eq!(host.lines(), [], "{name}");
        assert!(host.checkpoints.lock().unwrap().is_empty(), "{name}");
        assert_eq!(host.extensions.load(Ordering::SeqCst), 0, "{name}");
    }
}

#[tokio::test]
async fn a_guest_with_its_lease_has_all_of_these_effects() {
    // Given the same guests, when nothing is wrong with their leases, then each gets what it
    // wants: what the other test does not see is there to be seen.
    let seen = async |effect: &str| {
        let host = Arc::new(Recorder::default());
        let lease = leased(attempt_for(&host, b""), PATIENCE);
        output(run(&with_effect(effect), lease).await);
        let progress = host.progress.lock().unwrap().len();
        let checkpoints = host.checkpoints.lock().unwrap().len();
        progress - 1 + host.lines().len() + checkpoints + host.extensions.load(Ordering::SeqCst)
    };
    for (name, effect) in EFFECTS {
        assert_eq!(seen(effect).await, 1, "{name}");
    }
}
