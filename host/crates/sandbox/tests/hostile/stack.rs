//! Guests that use up their stack, and what is said of it.

use crate::guests::with_allocator;
use crate::neighbour::{Expected, ends, outcomes};
use crate::support::{attempt, failure, handler};
use cofferdam_core::class::FailureClass;
use cofferdam_core::history::MAX_BACKTRACE;

/// What becomes of them.
const USED_UP: Expected<'_> = (FailureClass::Stack, "stack-overflow", "call stack is used up");

#[tokio::test]
async fn endless_recursion_uses_up_the_guests_own_stack() {
    let guest = handler(
        "(func $down (param i32) (result i32)
            (i32.add (i32.const 1) (call $down (i32.add (local.get 0) (i32.const 1)))))",
        "(call $down (i32.const 0))",
    );
    ends(&guest, || attempt(b""), USED_UP).await;
}

#[tokio::test]
async fn endless_recursion_through_a_table_uses_up_the_guests_own_stack() {
    let guest = handler(
        "(type $step (func (param i32) (result i32)))
         (table $t 1 funcref)
         (func $down (type $step)
            (i32.add (i32.const 1) (call_indirect $t (type $step) (local.get 0) (i32.const 0))))
         (elem (table $t) (i32.const 0) func $down)",
        "(call $down (i32.const 0))",
    );
    ends(&guest, || attempt(b""), USED_UP).await;
}

#[tokio::test]
async fn endless_recursion_in_a_start_function_uses_up_the_guests_own_stack() {
    let guest = handler(
        "(func $down (result i32) (i32.add (i32.const 1) (call $down)))
         (func $begin (drop (call $down)))
         (start $begin)",
        "(unreachable)",
    );
    ends(&guest, || attempt(b""), USED_UP).await;
}

/// Frames of the host are below those of the guest on the same stack.
#[tokio::test]
async fn endless_recursion_in_an_allocator_uses_up_the_guests_own_stack() {
    let deeper = "(i32.add (i32.const 1) (call $allocate
        (local.get 0) (local.get 1) (local.get 2) (local.get 3)))";
    let guest = with_allocator("", deeper, "(unreachable)");
    ends(&guest, || attempt(b""), USED_UP).await;
}

#[tokio::test]
async fn endless_recursion_on_a_stack_in_memory_is_recognised() {
    // Given a guest that keeps its locals in memory, as compilers do
    let guest = handler(
        "(global $sp (mut i32) (i32.const 65536))
         (func $down (result i32)
            (global.set $sp (i32.sub (global.get $sp) (i32.const 1024)))
            (i32.store (global.get $sp) (i32.const 7))
            (i32.add (i32.const 1) (call $down)))",
        "(call $down)",
    );
    // when it recurses for ever, then its memory ends before its call stack does.
    let expected = (FailureClass::Stack, "memory-out-of-bounds", "possibly endless recursion");
    ends(&guest, || attempt(b""), expected).await;
}

#[tokio::test]
async fn names_of_any_length_make_no_long_backtrace() {
    // Given recursion between functions with names of ninety thousand letters each
    let (one, other) = ("a".repeat(90_000), "b".repeat(90_000));
    let guest = handler(
        &format!(
            "(func ${one} (result i32) (i32.add (i32.const 1) (call ${other})))
             (func ${other} (result i32) (i32.add (i32.const 1) (call ${one})))"
        ),
        &format!("(call ${one})"),
    );
    // when its stack is used up, then what is kept of it is short.
    for outcome in outcomes(&guest, || attempt(b"")).await {
        let failed = failure(outcome, FailureClass::Stack);
        assert!(!failed.backtrace.is_empty());
        assert!(failed.backtrace.len() <= MAX_BACKTRACE, "{}", failed.backtrace.len());
    }
}
