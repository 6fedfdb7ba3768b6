//! Guests that tell their host more than it wants to hear.

use crate::guests::{LOG, STDOUT};
use crate::host::Clerk;
use crate::neighbour::{Expected, TIME, ends, outcomes};
use crate::support::{Guest, Recorder, attempt, attempt_for, command, failure, hurried, limited};
use cofferdam_core::class::FailureClass;
use cofferdam_core::history::{MAX_CODE, MAX_MESSAGE};
use cofferdam_core::limits::Limits;
use cofferdam_sandbox::Attempt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const MIB: u64 = 1 << 20;

/// What becomes of those that write more than anybody may.
const FLOOD: Expected<'_> = (FailureClass::LogFlood, "log-flood", "the log was flooded with");

/// What becomes of those that put too much into one call.
const TOO_LARGE: Expected<'_> =
    (FailureClass::Trap, "host-call-too-large", "more than the 16MiB that it may carry");

#[tokio::test]
async fn a_flood_of_lines_ends_the_guest() {
    let guest = Guest {
        imports: LOG,
        handle: "(loop $l
                (call $log (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
                (br $l))
            (unreachable)",
        ..Guest::default()
    };
    let limits = || limited(Limits { log_flood_lines: 10_000, ..Limits::default() });
    let flood = (FailureClass::LogFlood, "log-flood", "flooded with 10001 lines");
    ends(&guest.component(), limits, flood).await;
}

#[tokio::test]
async fn a_flood_of_long_lines_ends_the_guest() {
    let guest = Guest {
        imports: LOG,
        memory: "2",
        handle: "(loop $l
                (call $log (i32.const 2) (i32.const 65536) (i32.const 60000)
                    (i32.const 0) (i32.const 0))
                (br $l))
            (unreachable)",
        ..Guest::default()
    };
    ends(&guest.component(), || attempt(b""), FLOOD).await;
}

#[tokio::test]
async fn a_line_of_seventeen_megabytes_is_not_taken() {
    let guest = Guest {
        imports: LOG,
        memory: "300",
        handle: "(call $log (i32.const 2) (i32.const 0) (i32.const 17825792)
                (i32.const 0) (i32.const 0))
            (unreachable)",
        ..Guest::default()
    };
    ends(&guest.component(), || attempt(b""), TOO_LARGE).await;
}

#[tokio::test]
async fn a_flood_of_empty_pairs_ends_the_guest() {
    // Given lines of a hundred thousand pairs each, all of them empty
    let guest = Guest {
        imports: LOG,
        memory: "30",
        handle: "(loop $l
                (call $log (i32.const 2) (i32.const 0) (i32.const 0)
                    (i32.const 65536) (i32.const 100000))
                (br $l))
            (unreachable)",
        ..Guest::default()
    };
    let host = Arc::new(Recorder::default());
    ends(&guest.component(), || attempt_for(&host, b""), FLOOD).await;
    // then few of them have been kept.
    assert!(host.lines().iter().all(|line| line.fields.len() <= 64));
}

#[tokio::test]
async fn a_flood_of_a_commands_output_ends_it() {
    let program =
        command("", "(loop $l (call $print (i32.const 0) (i32.const 4096)) (br $l)) (unreachable)");
    let over = (FailureClass::Output, "output-limit", "larger than the 8MiB");
    ends(&program, || attempt(b""), over).await;
}

#[tokio::test]
async fn a_flood_of_a_commands_errors_ends_it() {
    let program = command(
        "",
        "(loop $l (call $complain (i32.const 0) (i32.const 4096)) (br $l)) (unreachable)",
    );
    ends(&program, || attempt(b""), FLOOD).await;
}

#[tokio::test]
async fn a_line_without_an_end_ends_the_guest() {
    let guest = Guest {
        imports: STDOUT,
        handle: "(local $out i32)
            (local.set $out (call $get_stdout))
            (memory.fill (i32.const 8192) (i32.const 120) (i32.const 4096))
            (loop $l
                (call $write (local.get $out) (i32.const 8192) (i32.const 4096) (i32.const 256))
                (br $l))
            (unreachable)",
        ..Guest::default()
    };
    let host = Arc::new(Recorder::default());
    let limits = Limits { log_flood_bytes: 8 * MIB, ..Limits::default() };
    let attempt = || Attempt { limits: limits.clone(), ..attempt_for(&host, b"") };
    ends(&guest.component(), attempt, FLOOD).await;
    // It was broken into pieces, of which only so many were kept of each of the two attempts.
    let lines = host.lines();
    assert!(lines.iter().all(|line| line.message.len() <= 16 * 1024));
    let kept: usize = lines.iter().map(|line| line.message.len()).sum();
    assert!(kept as u64 <= 2 * (limits.log_bytes + 1024), "{kept}");
}

#[tokio::test]
async fn a_write_that_is_larger_than_the_stream_takes_is_refused() {
    let guest = Guest {
        imports: STDOUT,
        memory: "20",
        handle: "(call $write (call $get_stdout) (i32.const 0) (i32.const 1048576)
                (i32.const 256))
            (unreachable)",
        ..Guest::default()
    };
    let refused = (FailureClass::Trap, "host-call-failed", "Buffer too large");
    ends(&guest.component(), || attempt(b""), refused).await;
}

#[tokio::test]
async fn a_flood_of_progress_ends_at_the_deadline() {
    // Given a guest that reports its progress for ever, each time with a note of 60,000 bytes
    let guest = Guest {
        imports: r#"(import "cofferdam:job/control@0.1.0" "progress"
            (func $progress (param i32 i32 i32)))"#,
        memory: "2",
        handle: "(loop $l
                (call $progress (i32.const 1) (i32.const 65536) (i32.const 60000))
                (br $l))
            (unreachable)",
        ..Guest::default()
    };
    let clerk = Arc::new(Clerk::default());
    let late = (FailureClass::Deadline, "deadline", "passed its deadline");
    ends(&guest.component(), || Attempt { host: Arc::clone(&clerk) as _, ..hurried(TIME) }, late)
        .await;
    // then the host has heard it often, and never more than a short note.
    assert!(clerk.words.load(Ordering::SeqCst) > 0);
    assert!(clerk.longest.load(Ordering::SeqCst) <= 1024);
}

#[tokio::test]
async fn a_flood_of_checkpoints_that_are_too_large_reaches_nobody() {
    let guest = Guest {
        imports: r#"(import "cofferdam:job/control@0.1.0" "checkpoint"
            (func $checkpoint (param i32 i32 i32)))"#,
        memory: "20",
        // The allocator begins anew each time, so that the refusals do not fill the memory.
        handle: "(loop $l
                (global.set $top (i32.const 4096))
                (call $checkpoint (i32.const 65536) (i32.const 1048577) (i32.const 256))
                (br_if $l (i32.load8_u (i32.const 256))))
            (unreachable)",
        ..Guest::default()
    };
    let host = Arc::new(Recorder::default());
    let late = (FailureClass::Deadline, "deadline", "passed its deadline");
    let attempt = || Attempt { host: Arc::clone(&host) as _, ..hurried(TIME) };
    ends(&guest.component(), attempt, late).await;
    assert_eq!(host.arrived.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_output_over_the_limit_is_refused() {
    let guest = Guest {
        memory: "200",
        handle: "(call $ok (i32.const 0) (i32.const 8388609))",
        ..Guest::default()
    };
    let over = (FailureClass::Output, "output-limit", "larger than the 8MiB");
    ends(&guest.component(), || attempt(b""), over).await;
}

#[tokio::test]
async fn last_words_of_any_length_are_cut() {
    // Given a guest that says why it panics at great length, and traps
    let guest = Guest {
        imports: LOG,
        items: r#"(data (i32.const 8192) "panicked at ")"#,
        handle: "(memory.fill (i32.const 8204) (i32.const 120) (i32.const 50000))
            (call $log (i32.const 4) (i32.const 8192) (i32.const 50000)
                (i32.const 0) (i32.const 0))
            (unreachable)",
        ..Guest::default()
    };
    for outcome in outcomes(&guest.component(), || attempt(b"")).await {
        let failed = failure(outcome, FailureClass::Trap);
        assert!(failed.message.starts_with("the guest panicked at xxx"), "{}", failed.message);
        assert!(failed.message.len() <= MAX_MESSAGE, "{}", failed.message.len());
    }
}

#[tokio::test]
async fn an_error_of_any_length_is_cut() {
    // Given a handler whose error has a code and a message of a megabyte each
    let guest = Guest {
        memory: "20",
        handle: "(memory.fill (i32.const 65536) (i32.const 120) (i32.const 1048576))
            (i32.store8 (i32.const 512) (i32.const 1))
            (i32.store (i32.const 520) (i32.const 65536))
            (i32.store (i32.const 524) (i32.const 1048576))
            (i32.store (i32.const 528) (i32.const 65536))
            (i32.store (i32.const 532) (i32.const 1048576))
            (i32.const 512)",
        ..Guest::default()
    };
    for outcome in outcomes(&guest.component(), || attempt(b"")).await {
        let failed = failure(outcome, FailureClass::Error);
        assert!(failed.code.len() <= MAX_CODE, "{}", failed.code.len());
        assert!(failed.message.len() <= MAX_MESSAGE, "{}", failed.message.len());
    }
}
