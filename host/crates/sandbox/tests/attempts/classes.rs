//! One guest for each failure class.

use crate::support::{
    Guest, Recorder, attempt, attempt_for, failure, finish, handler, limited, output, prepare, run,
    sandbox, sandbox_with,
};
use cofferdam_core::class::FailureClass;
use cofferdam_core::limits::Limits;
use cofferdam_core::outcome::RetryAdvice;
use cofferdam_sandbox::{Pooling, SandboxSettings};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

const MIB: u64 = 1 << 20;

#[tokio::test]
async fn a_handler_answers_and_its_use_is_measured() {
    // Given a handler that returns its input, when it runs
    let outcome = run(&Guest::default().component(), attempt(b"hello")).await;
    // then its output is the input, and what it used is known.
    let usage = outcome.usage;
    assert_eq!(output(outcome), b"hello");
    assert_eq!(usage.output_bytes, 5);
    assert_eq!(usage.peak_memory_bytes, 65_536);
    assert!(usage.fuel > 0 && usage.fuel < 10_000, "{usage:?}");
    assert!(usage.cpu_micros > 0 && usage.wall_micros >= usage.cpu_micros, "{usage:?}");
}

#[tokio::test]
async fn a_handler_decides_about_its_retries() {
    for (advice, class, expected) in [
        (0, FailureClass::Error, RetryAdvice::Default),
        (1, FailureClass::Error, RetryAdvice::After(Duration::from_millis(1500))),
        (2, FailureClass::Permanent, RetryAdvice::Default),
        (3, FailureClass::Snoozed, RetryAdvice::After(Duration::from_millis(1500))),
    ] {
        let guest = handler("", &format!("(call $fail (i32.const {advice}) (i64.const 1500))"));
        let failed = failure(run(&guest, attempt(b"")).await, class);
        assert_eq!((failed.code.as_str(), failed.message.as_str()), ("code", "message"));
        assert_eq!(failed.advice, expected);
    }
}

#[tokio::test]
async fn traps_have_names_and_backtraces() {
    for (body, code) in [
        ("(unreachable)", "unreachable"),
        ("(i32.div_u (i32.const 1) (i32.const 0))", "division-by-zero"),
        ("(i32.load (i32.const 0x7fffffff))", "memory-out-of-bounds"),
    ] {
        let guest = handler(&format!("(func $innermost (result i32) {body})"), "(call $innermost)");
        let failed = failure(run(&guest, attempt(b"")).await, FailureClass::Trap);
        assert_eq!(failed.code, code);
        let frames: Vec<&str> = failed.backtrace.lines().collect();
        assert_eq!(frames, ["innermost", "handle"], "{code}");
    }
}

#[tokio::test]
async fn a_trap_comes_with_the_last_words_on_standard_error() {
    let text = "thread 'main' panicked at src/lib.rs:3:5:\\nboom\\n";
    let guest = Guest {
        imports: r#"
            (import "wasi:cli/stderr@0.2.0" "get-stderr" (func $get_stderr (result i32)))
            (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
                (func $write (param i32 i32 i32 i32)))"#,
        items: &format!(r#"(data (i32.const 3000) "{text}")"#),
        handle: "(call $write (call $get_stderr) (i32.const 3000) (i32.const 47) (i32.const 256))
                 (unreachable)",
        ..Guest::default()
    };
    let failed = failure(run(&guest.component(), attempt(b"")).await, FailureClass::Trap);
    assert_eq!(failed.message, "the guest panicked at src/lib.rs:3:5: boom");
}

#[tokio::test]
async fn fuel_is_a_budget() {
    let guest = handler("", "(loop $l (br $l)) (unreachable)");
    let outcome = run(&guest, limited(Limits { fuel: 100_000, ..Limits::default() })).await;
    assert_eq!(outcome.usage.fuel, 100_000);
    let failed = failure(outcome, FailureClass::Fuel);
    assert_eq!(failed.message, "the fuel budget of 100000 is used up");
}

#[tokio::test]
async fn memory_is_bounded_when_it_grows() {
    let guest = handler("", "(loop $l (drop (memory.grow (i32.const 1))) (br $l)) (unreachable)");
    let limits = Limits { memory_bytes: 4 * MIB, ..Limits::default() };
    let outcome = run(&guest, limited(limits)).await;
    assert_eq!(outcome.usage.peak_memory_bytes, 4 * MIB);
    let failed = failure(outcome, FailureClass::Memory);
    assert!(failed.message.contains("4MiB"), "{}", failed.message);
    assert_eq!(failed.backtrace, "handle");
}

#[tokio::test]
async fn memory_is_bounded_when_a_component_starts() {
    let guest = Guest { memory: "200", ..Guest::default() }.component();
    let limits = Limits { memory_bytes: 4 * MIB, ..Limits::default() };
    failure(run(&guest, limited(limits)).await, FailureClass::Memory);
}

#[tokio::test]
async fn all_memories_count_together() {
    // Given a guest with two memories, each well within the limit, when the second grows
    let guest = handler(
        "(memory $other 40)",
        "(drop (memory.grow $other (i32.const 40))) (call $ok_number (i64.const 0))",
    );
    let limits = Limits { memory_bytes: 4 * MIB, ..Limits::default() };
    // then their sum is what counts.
    failure(run(&guest, limited(limits)).await, FailureClass::Memory);
}

#[tokio::test]
async fn a_memory_that_declares_its_own_maximum_may_run_into_it() {
    // Given a memory of one page that may have two, when it asks for more, again and again
    let guest = Guest {
        memory: "1 2",
        handle: "(local $i i32)
            (loop $l
                (drop (memory.grow (i32.const 2)))
                (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1)))
                    (i32.const 1000))))
            (call $ok_number (i64.extend_i32_s (memory.grow (i32.const 2))))",
        ..Guest::default()
    };
    let limits = Limits { memory_bytes: 4 * MIB, ..Limits::default() };
    // then it is refused as WebAssembly says, and nothing is counted.
    let outcome = run(&guest.component(), limited(limits)).await;
    assert_eq!(outcome.usage.peak_memory_bytes, 65_536);
    assert_eq!(output(outcome), (-1_i64).to_le_bytes());
}

#[tokio::test]
async fn tables_are_bounded() {
    let guest = handler(
        "(table $t 1 funcref)",
        "(loop $l (drop (table.grow $t (ref.null func) (i32.const 64))) (br $l)) (unreachable)",
    );
    let limits = Limits { table_elements: 1_000, ..Limits::default() };
    failure(run(&guest, limited(limits)).await, FailureClass::Table);
}

#[tokio::test]
async fn endless_recursion_is_a_stack_overflow() {
    let guest = handler(
        "(func $down (param i32) (result i32)
            (i32.add (i32.const 1) (call $down (i32.add (local.get 0) (i32.const 1)))))",
        "(call $down (i32.const 0))",
    );
    let failed = failure(run(&guest, attempt(b"")).await, FailureClass::Stack);
    assert_eq!(failed.code, "stack-overflow");
    assert!(failed.backtrace.starts_with("down (and "), "{}", failed.backtrace);
}

#[tokio::test]
async fn recursion_that_runs_out_of_a_stack_in_memory_is_recognised() {
    // Given a guest that keeps its locals in memory as compilers do, when it recurses for ever
    let guest = handler(
        "(global $sp (mut i32) (i32.const 65536))
         (func $down (result i32)
            (global.set $sp (i32.sub (global.get $sp) (i32.const 1024)))
            (i32.store (global.get $sp) (i32.const 7))
            (i32.add (i32.const 1) (call $down)))",
        "(call $down)",
    );
    // then its memory ends before its call stack, and the failure says what that may mean.
    let failed = failure(run(&guest, attempt(b"")).await, FailureClass::Stack);
    assert_eq!(failed.code, "memory-out-of-bounds");
    assert!(failed.message.contains("possibly"), "{}", failed.message);
    assert!(failed.message.contains("`down`"), "{}", failed.message);
}

#[tokio::test]
async fn the_output_is_bounded() {
    let guest = handler("", "(call $ok (i32.const 0) (i32.const 2000))");
    let limits = Limits { output_bytes: 1_999, ..Limits::default() };
    failure(run(&guest, limited(limits)).await, FailureClass::Output);
    // An output so large that it is not even copied ends the same way.
    let limits = Limits { output_bytes: 500, hostcall_bytes: 1_000, ..Limits::default() };
    let failed = failure(run(&guest, limited(limits)).await, FailureClass::Output);
    assert_eq!(failed.code, "output-limit");
}

#[tokio::test]
async fn a_host_call_carries_only_so_much() {
    let guest = Guest {
        imports: r#"(import "cofferdam:job/control@0.1.0" "progress"
            (func $progress (param i32 i32 i32)))"#,
        handle: "(call $progress (i32.const 1) (i32.const 4096) (i32.const 60000)) (unreachable)",
        ..Guest::default()
    };
    let limits = Limits { hostcall_bytes: 10_000, ..Limits::default() };
    let failed = failure(run(&guest.component(), limited(limits)).await, FailureClass::Trap);
    assert_eq!(failed.code, "host-call-too-large");
}

#[tokio::test]
async fn randomness_is_given_in_small_portions() {
    let guest = Guest {
        imports: r#"(import "wasi:random/random@0.2.0" "get-random-bytes"
            (func $random (param i64 i32)))"#,
        handle: "(call $random (i64.const 1000000) (i32.const 256)) (unreachable)",
        ..Guest::default()
    };
    let failed = failure(run(&guest.component(), attempt(b"")).await, FailureClass::Trap);
    assert_eq!(failed.code, "host-call-failed");
}

#[tokio::test]
async fn what_cannot_be_started_is_not_runnable() {
    // Given a component with more memories than an attempt may have, and no pool whose limits
    // would have refused it when it was compiled
    let settings =
        SandboxSettings { pooling: Pooling::Off, threads: 1, ..SandboxSettings::default() };
    let sandbox = sandbox_with(settings);
    let prepared = prepare(&sandbox, &handler("(memory $a 1) (memory $b 1)", "(unreachable)"));
    // when it runs, then it does not get as far as its own code.
    let outcome = finish(sandbox.run(&prepared, attempt(b"")).outcome()).await;
    let failed = failure(outcome, FailureClass::NotRunnable);
    assert_eq!(failed.code, "instantiation-failed");
}

#[tokio::test]
async fn a_bug_of_the_host_costs_one_attempt_and_no_thread() {
    let sandbox = sandbox(1);
    let guest = Guest {
        imports: r#"(import "cofferdam:job/control@0.1.0" "progress"
            (func $progress (param i32 i32 i32)))"#,
        handle: "(call $progress (i32.const 1) (i32.const 0) (i32.const 0))
                 (call $ok_number (i64.const 0))",
        ..Guest::default()
    };
    let prepared = prepare(&sandbox, &guest.component());
    // Given a host whose code panics, when a guest calls it
    let host = Arc::new(Recorder::default());
    host.panics.store(true, Ordering::SeqCst);
    let outcome = finish(sandbox.run(&prepared, attempt_for(&host, b"")).outcome()).await;
    // then the job goes back uncounted,
    let failed = failure(outcome, FailureClass::Released);
    assert_eq!(failed.code, "host-panic");
    // and the thread goes on.
    output(finish(sandbox.run(&prepared, attempt(b"")).outcome()).await);
}

#[tokio::test]
async fn attempts_past_the_pool_go_back() {
    // Given a sandbox with one slot, and guests that wait
    let settings = SandboxSettings {
        slots: 1,
        threads: 1,
        pooling: Pooling::Required,
        ..SandboxSettings::default()
    };
    let sandbox = sandbox_with(settings);
    let guest = Guest {
        imports: r#"(import "cofferdam:job/control@0.1.0" "checkpoint"
            (func $checkpoint (param i32 i32 i32)))"#,
        handle: "(call $checkpoint (i32.const 0) (i32.const 0) (i32.const 256)) (unreachable)",
        ..Guest::default()
    };
    let prepared = prepare(&sandbox, &guest.component());
    let host = Arc::new(Recorder::default());
    host.stuck.store(true, Ordering::SeqCst);
    // when more are started than fit
    let mut waiting: Vec<_> =
        (0..20).map(|_| sandbox.run(&prepared, attempt_for(&host, b""))).collect();
    // then the last one is released for want of room.
    let last = waiting.pop().unwrap();
    let failed = failure(finish(last.outcome()).await, FailureClass::Released);
    assert_eq!(failed.code, "no-capacity");
}
