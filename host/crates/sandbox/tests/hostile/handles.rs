//! Guests that collect handles, or use those that they do not have.

use crate::guests::{STDOUT, TIMERS, raw_command};
use crate::neighbour::{Expected, ends};
use crate::support::{Guest, attempt};
use cofferdam_core::class::FailureClass;

/// What becomes of a guest whose host call is refused.
const fn refused(said: &str) -> Expected<'_> {
    (FailureClass::Trap, "host-call-failed", said)
}

#[tokio::test]
async fn timers_that_are_never_dropped_end_the_guest() {
    let guest = Guest {
        imports: TIMERS,
        handle: "(loop $l (drop (call $after (i64.const 3600000000000))) (br $l)) (unreachable)",
        ..Guest::default()
    };
    ends(&guest.component(), || attempt(b""), refused("no free keys")).await;
}

#[tokio::test]
async fn streams_that_are_never_dropped_end_the_guest() {
    let guest = Guest {
        imports: STDOUT,
        handle: "(loop $l (drop (call $get_stdout)) (br $l)) (unreachable)",
        ..Guest::default()
    };
    ends(&guest.component(), || attempt(b""), refused("no free keys")).await;
}

#[tokio::test]
async fn handles_of_a_guests_own_resources_end_the_guest() {
    // No code of the host runs when these are made: only the engine counts them.
    let program = raw_command(
        r#"(type $thing (resource (rep i32)))
        (core func $new (canon resource.new $thing))
        (core module $program
            (import "thing" "new" (func $new (param i32) (result i32)))
            (func (export "run") (result i32)
                (loop $l (drop (call $new (i32.const 7))) (br $l)) (unreachable)))
        (core instance $program (instantiate $program (with "thing" (instance
            (export "new" (func $new))))))"#,
    );
    ends(&program, || attempt(b""), refused("handle limit exceeded")).await;
}

#[tokio::test]
async fn a_list_of_ten_thousand_pollables_ends_the_guest() {
    // Given a list that names one timer ten thousand times
    let guest = Guest {
        imports: TIMERS,
        handle: "(local $timer i32) (local $at i32)
            (local.set $timer (call $after (i64.const 3600000000000)))
            (local.set $at (i32.const 16384))
            (loop $l
                (i32.store (local.get $at) (local.get $timer))
                (br_if $l (i32.lt_u
                    (local.tee $at (i32.add (local.get $at) (i32.const 4)))
                    (i32.const 56384))))
            (call $poll (i32.const 16384) (i32.const 10000) (i32.const 256))
            (unreachable)",
        ..Guest::default()
    };
    // when it is polled, then that is as many handles.
    ends(&guest.component(), || attempt(b""), refused("handle limit exceeded")).await;
}

#[tokio::test]
async fn a_handle_that_was_never_given_is_refused() {
    let guest = Guest {
        imports: TIMERS,
        handle: "(call $block (i32.const 77)) (unreachable)",
        ..Guest::default()
    };
    ends(&guest.component(), || attempt(b""), refused("unknown handle index 77")).await;
}

#[tokio::test]
async fn a_handle_is_good_for_nothing_else() {
    // Given a stream, when it is taken for a timer, then it is refused.
    let imports = format!("{TIMERS} {STDOUT}");
    let guest = Guest {
        imports: &imports,
        handle: "(call $block (call $get_stdout)) (unreachable)",
        ..Guest::default()
    };
    ends(&guest.component(), || attempt(b""), refused("resource")).await;
}

#[tokio::test]
async fn a_handle_that_was_dropped_is_refused() {
    for last in ["(call $block (local.get $timer))", "(call $drop (local.get $timer))"] {
        let handle = format!(
            "(local $timer i32)
             (local.set $timer (call $after (i64.const 1)))
             (call $drop (local.get $timer))
             {last}
             (unreachable)"
        );
        let guest = Guest { imports: TIMERS, handle: &handle, ..Guest::default() };
        ends(&guest.component(), || attempt(b""), refused("unknown handle index")).await;
    }
}
