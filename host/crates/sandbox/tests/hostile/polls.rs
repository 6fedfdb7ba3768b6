//! Guests that wait, or only seem to.

use crate::guests::{STDOUT, TIMERS};
use crate::neighbour::{Expected, TIME, answers, ends};
use crate::support::{Guest, Recorder, attempt, command, hurried};
use cofferdam_core::class::FailureClass;
use cofferdam_sandbox::Attempt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What becomes of those that sleep.
const ASLEEP: Expected<'_> = (FailureClass::Deadline, "deadline", "while it waited in a WASI call");

/// What becomes of those that are now in their own code and now in the host's.
const SOMEWHERE: Expected<'_> = (FailureClass::Deadline, "deadline", "passed its deadline of 1s");

/// A handler with these imports and this body must not get past its deadline.
async fn dies(imports: &str, handle: &str, expected: Expected<'_>) {
    let guest = Guest { imports, handle, ..Guest::default() };
    ends(&guest.component(), || hurried(TIME), expected).await;
}

#[tokio::test]
async fn polling_without_waiting_for_ever_ends_at_the_deadline() {
    // Given a guest that asks for a timer of no time, again and again
    let polling = "(loop $l
            (global.set $top (i32.const 4096))
            (i32.store (i32.const 300) (call $after (i64.const 0)))
            (call $poll (i32.const 300) (i32.const 1) (i32.const 256))
            (call $drop (i32.load (i32.const 300)))
            (br $l))
        (unreachable)";
    dies(TIMERS, polling, SOMEWHERE).await;
}

#[tokio::test]
async fn polling_what_is_always_ready_for_ever_ends_at_the_deadline() {
    // A stream that takes everything never lets the guest's thread rest.
    let imports = format!(
        r#"{TIMERS} {STDOUT}
        (import "wasi:io/streams@0.2.0" "[method]output-stream.subscribe"
            (func $subscribe (param i32) (result i32)))"#
    );
    let polling = "(i32.store (i32.const 300) (call $subscribe (call $get_stdout)))
        (loop $l
            (global.set $top (i32.const 4096))
            (call $poll (i32.const 300) (i32.const 1) (i32.const 256))
            (br $l))
        (unreachable)";
    dies(&imports, polling, SOMEWHERE).await;
}

#[tokio::test]
async fn asking_whether_a_timer_is_over_for_ever_ends_at_the_deadline() {
    let asking = "(local $timer i32)
        (local.set $timer (call $after (i64.const 3600000000000)))
        (loop $l (br_if $l (i32.eqz (call $ready (local.get $timer)))))
        (unreachable)";
    dies(TIMERS, asking, SOMEWHERE).await;
}

#[tokio::test]
async fn the_shortest_sleeps_for_ever_end_at_the_deadline() {
    let napping = "(local $timer i32)
        (loop $l
            (local.set $timer (call $after (i64.const 1)))
            (call $block (local.get $timer))
            (call $drop (local.get $timer))
            (br $l))
        (unreachable)";
    dies(TIMERS, napping, SOMEWHERE).await;
}

#[tokio::test]
async fn a_sleep_of_an_hour_ends_at_the_deadline() {
    let asleep = "(call $block (call $after (i64.const 3600000000000))) (unreachable)";
    dies(TIMERS, asleep, ASLEEP).await;
}

#[tokio::test]
async fn a_sleep_of_centuries_ends_at_the_deadline() {
    dies(TIMERS, "(call $block (call $after (i64.const -1))) (unreachable)", ASLEEP).await;
}

#[tokio::test]
async fn polling_hundreds_of_timers_ends_at_the_deadline() {
    let polling = "(local $at i32)
        (local.set $at (i32.const 8192))
        (loop $l
            (i32.store (local.get $at) (call $after (i64.const 3600000000000)))
            (br_if $l (i32.lt_u
                (local.tee $at (i32.add (local.get $at) (i32.const 4)))
                (i32.const 9792))))
        (call $poll (i32.const 8192) (i32.const 400) (i32.const 256))
        (unreachable)";
    dies(TIMERS, polling, ASLEEP).await;
}

#[tokio::test]
async fn polling_nothing_is_refused() {
    let guest = Guest {
        imports: TIMERS,
        handle: "(call $poll (i32.const 0) (i32.const 0) (i32.const 256)) (unreachable)",
        ..Guest::default()
    };
    let refused = (FailureClass::Trap, "host-call-failed", "empty poll list");
    ends(&guest.component(), || attempt(b""), refused).await;
}

#[tokio::test]
async fn a_host_call_that_is_not_answered_ends_at_the_deadline() {
    // Given a host that has lost its database
    let host = Arc::new(Recorder::default());
    host.stuck.store(true, Ordering::SeqCst);
    *host.slowness.lock().unwrap() = Duration::from_hours(1);
    for (function, parameters, call, named) in [
        (
            "checkpoint",
            "i32 i32 i32",
            "(i32.const 0) (i32.const 0) (i32.const 256)",
            "in the host call cofferdam:job/control.checkpoint",
        ),
        (
            "extend-deadline",
            "i64 i32",
            "(i64.const 1) (i32.const 256)",
            "in the host call cofferdam:job/control.extend-deadline",
        ),
    ] {
        let imports = format!(
            r#"(import "cofferdam:job/control@0.1.0" "{function}"
                (func $ask (param {parameters})))"#
        );
        let handle = format!("(call $ask {call}) (unreachable)");
        let guest = Guest { imports: &imports, handle: &handle, ..Guest::default() };
        // when a guest waits for it, then it ends all the same, and it is told where it was.
        let attempt = || Attempt { host: Arc::clone(&host) as _, ..hurried(TIME) };
        ends(&guest.component(), attempt, (FailureClass::Deadline, "deadline", named)).await;
    }
}

#[tokio::test]
async fn a_command_does_not_wait_for_input_that_never_comes() {
    // Given a command that reads its input twice, of which there is none
    let program = command(
        "",
        "(call $read (call $get_stdin) (i64.const -1) (i32.const 288))
         (call $print (i32.const 288) (i32.const 1))
         (call $print (i32.const 292) (i32.const 1))
         (i32.const 0)",
    );
    // then it is told at once that there will be none: an error, and `closed`.
    answers(&program, || attempt(b""), &[1, 1]).await;
}

#[tokio::test]
async fn a_handler_has_nobodys_standard_input() {
    let guest = Guest {
        imports: r#"
            (import "wasi:cli/stdin@0.2.0" "get-stdin" (func $get_stdin (result i32)))
            (import "wasi:io/streams@0.2.0" "[method]input-stream.blocking-read"
                (func $read (param i32 i64 i32)))"#,
        handle: "(call $read (call $get_stdin) (i64.const 100) (i32.const 288))
            (i32.store8 (i32.const 289) (i32.load8_u (i32.const 292)))
            (call $ok (i32.const 288) (i32.const 2))",
        ..Guest::default()
    };
    answers(&guest.component(), || attempt(b"input"), &[1, 1]).await;
}
