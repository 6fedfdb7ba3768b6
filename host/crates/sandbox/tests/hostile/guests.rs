//! Parts that several hostile guests have in common.

use crate::support::core_module;

/// The end of a function that never ends.
pub(crate) const SPIN: &str = "(loop $l (br $l)) (unreachable)";

/// The log.
pub(crate) const LOG: &str = r#"
    (import "cofferdam:job/log@0.1.0" "log" (func $log (param i32 i32 i32 i32 i32)))"#;

/// Timers, and what waits for them.
pub(crate) const TIMERS: &str = r#"
    (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration"
        (func $after (param i64) (result i32)))
    (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
    (import "wasi:io/poll@0.2.0" "[method]pollable.ready" (func $ready (param i32) (result i32)))
    (import "wasi:io/poll@0.2.0" "[resource-drop]pollable" (func $drop (param i32)))
    (import "wasi:io/poll@0.2.0" "poll" (func $poll (param i32 i32 i32)))"#;

/// Standard output.
pub(crate) const STDOUT: &str = r#"
    (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $get_stdout (result i32)))
    (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
        (func $write (param i32 i32 i32 i32)))"#;

/// A host call that does next to nothing.
pub(crate) const REMAINING: &str = r#"
    (import "cofferdam:job/control@0.1.0" "remaining-ms" (func $remaining (result i64)))"#;

/// A handler with an allocator of its own, called `$allocate`. The host calls it before it calls
/// `handle`, for room to put the arguments in.
pub(crate) fn with_allocator(imports: &str, allocate: &str, handle: &str) -> Vec<u8> {
    let text = format!(
        r#"(module $guest
            {imports}
            (memory (export "memory") 1)
            (func $allocate (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                {allocate})
            (func (export "cofferdam:job/handler@0.1.0#describe") (result i32) (unreachable))
            (func (export "cofferdam:job/handler@0.1.0#handle") (param i32) (result i32)
                {handle}))"#
    );
    core_module(&text, "handler")
}

/// A command in the text format of components, for what core modules cannot say. `parts` make a
/// core instance `$program` that exports `run`.
pub(crate) fn raw_command(parts: &str) -> Vec<u8> {
    let text = format!(
        r#"(component
            {parts}
            (func $run (result (result)) (canon lift (core func $program "run")))
            (instance $api (export "run" (func $run)))
            (export "wasi:cli/run@0.2.0" (instance $api)))"#
    );
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}
