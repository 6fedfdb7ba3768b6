//! Guests that break the calling convention between them and their host.

use crate::guests::{LOG, REMAINING, with_allocator};
use crate::neighbour::{Expected, ends};
use crate::support::{Guest, attempt, handler};
use cofferdam_core::class::FailureClass;
use cofferdam_sandbox::Attempt;

const CHECKPOINT: &str = r#"
    (import "cofferdam:job/control@0.1.0" "checkpoint" (func $checkpoint (param i32 i32 i32)))"#;

/// What becomes of a guest whose words the host cannot take.
const fn refused(said: &str) -> Expected<'_> {
    (FailureClass::Trap, "host-call-failed", said)
}

/// What becomes of a guest that calls its host while it may not.
const NOT_NOW: Expected<'_> =
    (FailureClass::Trap, "cannot-leave-component", "cannot leave component instance");

/// A handler with this body must end so.
async fn handle_ends(handle: &str, expected: Expected<'_>) {
    ends(&handler("", handle), || attempt(b""), expected).await;
}

/// A handler with these imports and this body must end so.
async fn call_ends(imports: &str, handle: &str, expected: Expected<'_>) {
    let guest = Guest { imports, handle, ..Guest::default() };
    ends(&guest.component(), || attempt(b""), expected).await;
}

#[tokio::test]
async fn a_result_outside_of_memory_is_refused() {
    handle_ends("(i32.const 0x7ffffff8)", refused("pointer out of bounds of memory")).await;
}

#[tokio::test]
async fn a_result_between_two_words_is_refused() {
    handle_ends("(i32.const 513)", refused("return pointer not aligned")).await;
}

#[tokio::test]
async fn a_result_that_is_neither_of_its_cases_is_refused() {
    let neither = "(i32.store8 (i32.const 512) (i32.const 7)) (i32.const 512)";
    handle_ends(neither, refused("invalid expected discriminant")).await;
}

#[tokio::test]
async fn an_output_that_runs_past_the_end_of_memory_is_refused() {
    let past = "(call $ok (i32.const 65000) (i32.const 5000))";
    handle_ends(past, refused("list pointer/length out of bounds of memory")).await;
}

#[tokio::test]
async fn an_output_of_four_gigabytes_is_refused_unread() {
    let huge = "(call $ok (i32.const 0) (i32.const 0xffffffff))";
    handle_ends(huge, refused("list pointer/length out of bounds of memory")).await;
}

#[tokio::test]
async fn an_error_that_is_no_text_is_refused() {
    let items = r#"(data (i32.const 1041) "\ff\fe\fd\fc")"#;
    let guest = handler(items, "(call $fail (i32.const 0) (i64.const 0))");
    ends(&guest, || attempt(b""), refused("invalid utf-8")).await;
}

#[tokio::test]
async fn advice_that_does_not_exist_is_refused() {
    let unknown = "(call $fail (i32.const 200) (i64.const 0))";
    handle_ends(unknown, refused("unexpected discriminant: 200")).await;
}

#[tokio::test]
async fn a_log_level_that_does_not_exist_is_refused() {
    let unknown = "(call $log (i32.const 99) (i32.const 1024) (i32.const 4)
            (i32.const 0) (i32.const 0))
        (unreachable)";
    call_ends(LOG, unknown, refused("unexpected discriminant: 99")).await;
}

#[tokio::test]
async fn a_line_outside_of_memory_is_refused() {
    let past = "(call $log (i32.const 2) (i32.const 65530) (i32.const 100)
            (i32.const 0) (i32.const 0))
        (unreachable)";
    call_ends(LOG, past, refused("string pointer/length out of bounds of memory")).await;
}

#[tokio::test]
async fn a_line_that_is_no_text_is_refused() {
    let broken = "(i32.store8 (i32.const 3000) (i32.const 0xff))
        (call $log (i32.const 2) (i32.const 3000) (i32.const 1) (i32.const 0) (i32.const 0))
        (unreachable)";
    call_ends(LOG, broken, refused("invalid utf-8")).await;
}

#[tokio::test]
async fn pairs_outside_of_memory_are_refused() {
    let past = "(call $log (i32.const 2) (i32.const 1024) (i32.const 4)
            (i32.const 0) (i32.const 0x10000000))
        (unreachable)";
    call_ends(LOG, past, refused("list pointer/length out of bounds of memory")).await;
}

/// Each copy is within the guest's memory; together they would be six gigabytes of the host's.
#[tokio::test]
async fn one_text_a_hundred_thousand_times_is_too_much_for_one_call() {
    // Given a list of pairs whose keys are all the same sixty thousand bytes
    let guest = Guest {
        imports: LOG,
        memory: "40",
        handle: "(local $at i32)
            (local.set $at (i32.const 131072))
            (loop $l
                (i32.store (local.get $at) (i32.const 65536))
                (i32.store offset=4 (local.get $at) (i32.const 60000))
                (br_if $l (i32.lt_u
                    (local.tee $at (i32.add (local.get $at) (i32.const 16)))
                    (i32.const 1731072))))
            (call $log (i32.const 2) (i32.const 1024) (i32.const 4)
                (i32.const 131072) (i32.const 100000))
            (unreachable)",
        ..Guest::default()
    };
    // when it is logged, then the copies are counted.
    let expected = (FailureClass::Trap, "host-call-too-large", "more than the 16MiB");
    ends(&guest.component(), || attempt(b""), expected).await;
}

#[tokio::test]
async fn an_answer_that_is_to_be_put_outside_of_memory_is_not() {
    let past =
        "(call $checkpoint (i32.const 0) (i32.const 0) (i32.const 0x7ffffffc)) (unreachable)";
    call_ends(CHECKPOINT, past, refused("pointer out of bounds")).await;
}

#[tokio::test]
async fn an_answer_that_is_to_be_put_between_two_words_is_not() {
    let odd = "(call $checkpoint (i32.const 0) (i32.const 0) (i32.const 257)) (unreachable)";
    call_ends(CHECKPOINT, odd, refused("pointer not aligned")).await;
}

#[tokio::test]
async fn an_allocator_that_points_outside_of_memory_is_not_believed() {
    let guest = with_allocator("", "(i32.const 0xfffffff0)", "(unreachable)");
    ends(&guest, || attempt(b""), refused("realloc return: beyond end of memory")).await;
}

#[tokio::test]
async fn an_allocator_that_points_between_two_words_is_not_believed() {
    let guest = with_allocator("", "(i32.const 4097)", "(unreachable)");
    ends(&guest, || attempt(b""), refused("realloc return: result not aligned")).await;
}

#[tokio::test]
async fn an_allocator_that_traps_is_a_trap() {
    let guest = with_allocator("", "(unreachable)", "(unreachable)");
    let expected = (FailureClass::Trap, "unreachable", "declared unreachable");
    ends(&guest, || attempt(b""), expected).await;
}

/// A call within a call would be on the stack once more, and once more within that.
#[tokio::test]
async fn an_allocator_cannot_call_the_host() {
    let guest =
        with_allocator(REMAINING, "(drop (call $remaining)) (i32.const 4096)", "(unreachable)");
    ends(&guest, || attempt(b""), NOT_NOW).await;
}

#[tokio::test]
async fn an_allocator_cannot_call_the_host_from_within_a_host_call() {
    // Given a guest that makes a host call which asks it for room, and makes another one then
    let imports = format!(
        r#"{REMAINING}
        (import "cofferdam:job/control@0.1.0" "last-checkpoint" (func $last (param i32)))
        (global $asked (mut i32) (i32.const 0))"#
    );
    let guest = with_allocator(
        &imports,
        "(if (global.get $asked) (then (drop (call $remaining)))) (i32.const 4096)",
        "(global.set $asked (i32.const 1)) (call $last (i32.const 256)) (unreachable)",
    );
    // when there is an answer to make room for, then that is the end.
    let attempt = || Attempt { last_checkpoint: Some(b"kept".to_vec()), ..attempt(b"") };
    ends(&guest, attempt, NOT_NOW).await;
}

#[tokio::test]
async fn a_clean_up_cannot_call_the_host() {
    let items = r#"(func (export "cabi_post_cofferdam:job/handler@0.1.0#handle") (param i32)
        (drop (call $remaining)))"#;
    let guest = Guest { imports: REMAINING, items, ..Guest::default() };
    ends(&guest.component(), || attempt(b""), NOT_NOW).await;
}
