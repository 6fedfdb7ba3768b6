//! What guests say.

use crate::support::{Guest, Recorder, attempt_for, failure, output, run};
use cofferdam_core::class::FailureClass;
use cofferdam_core::limits::Limits;
use cofferdam_core::log::LogLevel;
use cofferdam_sandbox::Attempt;
use std::sync::Arc;

const LOG: &str = r#"
    (import "cofferdam:job/log@0.1.0" "log" (func $log (param i32 i32 i32 i32 i32)))"#;

const STREAMS: &str = r#"
    (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $get_stdout (result i32)))
    (import "wasi:cli/stderr@0.2.0" "get-stderr" (func $get_stderr (result i32)))
    (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
        (func $write (param i32 i32 i32 i32)))"#;

#[tokio::test]
async fn log_calls_arrive_with_level_and_fields() {
    let host = Arc::new(Recorder::default());
    let guest = Guest {
        imports: LOG,
        items: r#"
            (data (i32.const 3000) "readyrows42")
            (data (i32.const 3100) "\bd\0b\00\00\04\00\00\00\c1\0b\00\00\02\00\00\00")"#,
        handle: "(call $log (i32.const 3) (i32.const 3000) (i32.const 5)
                     (i32.const 3100) (i32.const 1))
                 (call $ok_number (i64.const 0))",
        ..Guest::default()
    };
    let outcome = run(&guest.component(), attempt_for(&host, b"")).await;
    assert_eq!(outcome.usage.log_bytes, 11);
    output(outcome);
    let lines = host.lines();
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0].level, LogLevel::Warn);
    assert_eq!(lines[0].message, "ready");
    assert_eq!(lines[0].fields, [("rows".to_owned(), "42".to_owned())]);
}

#[tokio::test]
async fn a_handlers_standard_streams_are_log_lines() {
    let host = Arc::new(Recorder::default());
    let guest = Guest {
        imports: STREAMS,
        items: r#"(data (i32.const 3000) "one\ntwo")"#,
        handle: "(local $out i32) (local $err i32)
            (call $write (call $get_stdout) (i32.const 3000) (i32.const 7) (i32.const 256))
            (call $write (call $get_stderr) (i32.const 3000) (i32.const 3) (i32.const 256))
            (call $ok_number (i64.const 0))",
        ..Guest::default()
    };
    output(run(&guest.component(), attempt_for(&host, b"")).await);
    assert_eq!(host.said(LogLevel::Stdout), ["one", "two"]);
    assert_eq!(host.said(LogLevel::Stderr), ["one"]);
}

/// What ten lines of one letter take of a log's budget: a line costs 64 bytes beside its text.
const TEN_LINES: u64 = 10 * 65;

/// Logs the line "x" as often as its input's length says.
fn chatty() -> Vec<u8> {
    Guest {
        imports: LOG,
        items: r#"(data (i32.const 3000) "x")"#,
        handle: "(local $i i32)
            (loop $l
                (call $log (i32.const 2) (i32.const 3000) (i32.const 1)
                    (i32.const 0) (i32.const 0))
                (br_if $l (i32.lt_u
                    (local.tee $i (i32.add (local.get $i) (i32.const 1)))
                    (call $input_len (local.get $args)))))
            (call $ok_number (i64.const 0))",
        ..Guest::default()
    }
    .component()
}

#[tokio::test]
async fn a_chatty_guest_only_loses_lines() {
    let host = Arc::new(Recorder::default());
    let limits = Limits { log_bytes: TEN_LINES, ..Limits::default() };
    let attempt = Attempt { limits, ..attempt_for(&host, &[0; 25]) };
    output(run(&chatty(), attempt).await);
    assert_eq!(host.said(LogLevel::Info).len(), 10);
    let remarks = host.said(LogLevel::Host);
    assert_eq!(remarks, ["15 more lines (15 bytes) were dropped: the log may have 650B"]);
}

#[tokio::test]
async fn a_flood_ends_the_guest() {
    let host = Arc::new(Recorder::default());
    let limits = Limits { log_bytes: TEN_LINES, log_flood_lines: 1_000, ..Limits::default() };
    let attempt = Attempt { limits, ..attempt_for(&host, &[0; 5_000]) };
    failure(run(&chatty(), attempt).await, FailureClass::LogFlood);
    assert_eq!(host.said(LogLevel::Info).len(), 10);
    // What was dropped is said in this case too.
    assert_eq!(host.said(LogLevel::Host).len(), 1);
}

#[tokio::test]
async fn a_flood_of_standard_output_ends_the_guest() {
    let host = Arc::new(Recorder::default());
    let guest = Guest {
        imports: STREAMS,
        handle: "(local $out i32)
            (local.set $out (call $get_stdout))
            (loop $l
                (call $write (local.get $out) (i32.const 0) (i32.const 4096) (i32.const 256))
                (br $l))
            (unreachable)",
        ..Guest::default()
    };
    let limits = Limits { log_flood_bytes: 1 << 20, ..Limits::default() };
    let attempt = Attempt { limits, ..attempt_for(&host, b"") };
    failure(run(&guest.component(), attempt).await, FailureClass::LogFlood);
}
