//! Guests that want memory, or keep it busy.

use crate::neighbour::{Expected, TIME, ends, never_starts};
use crate::support::{Guest, attempt, handler, hurried, limited};
use cofferdam_core::class::FailureClass;
use cofferdam_core::limits::Limits;
use cofferdam_sandbox::Attempt;

const MIB: u64 = 1 << 20;

/// What becomes of those that want more than 64 MiB.
const OVER_64_MIB: Expected<'_> = (FailureClass::Memory, "memory-limit", "may have 64MiB");

/// What becomes of those that never end.
const TOO_LONG: Expected<'_> = (FailureClass::Deadline, "deadline", "while it ran guest code");

/// An attempt that may have 64 MiB.
fn small() -> Attempt {
    limited(Limits { memory_bytes: 64 * MIB, ..Limits::default() })
}

#[tokio::test]
async fn memory_wanted_in_one_step_is_refused_untouched() {
    let guest = handler("", "(drop (memory.grow (i32.const 60000))) (unreachable)");
    let over = (FailureClass::Memory, "memory-limit", "may have 256MiB");
    ends(&guest, || attempt(b""), over).await;
}

#[tokio::test]
async fn memory_taken_and_touched_page_by_page_ends_at_the_limit() {
    let guest = handler(
        "",
        "(loop $l
            (i32.store (i32.shl (memory.grow (i32.const 1)) (i32.const 16)) (i32.const 7))
            (br $l))
         (unreachable)",
    );
    ends(&guest, small, OVER_64_MIB).await;
}

#[tokio::test]
async fn two_memories_that_grow_in_turn_are_added_up() {
    let guest = handler(
        "(memory $other 1)",
        "(loop $l
            (drop (memory.grow (i32.const 16)))
            (drop (memory.grow $other (i32.const 16)))
            (br $l))
         (unreachable)",
    );
    ends(&guest, small, OVER_64_MIB).await;
}

#[tokio::test]
async fn a_component_that_starts_with_too_much_memory_does_not_start() {
    let guest = Guest { memory: "1025", ..Guest::default() }.component();
    ends(&guest, small, OVER_64_MIB).await;
}

#[tokio::test]
async fn a_component_that_needs_all_there_is_is_refused() {
    let guest = Guest { memory: "65536", ..Guest::default() }.component();
    never_starts(&guest, "memory").await;
}

#[tokio::test]
async fn a_component_with_many_memories_is_refused() {
    let guest = handler("(memory $second 1) (memory $third 1)", "(unreachable)");
    never_starts(&guest, "memor").await;
}

#[tokio::test]
async fn growing_by_nothing_for_ever_ends_at_the_deadline() {
    let guest = handler("", "(loop $l (drop (memory.grow (i32.const 0))) (br $l)) (unreachable)");
    ends(&guest, || hurried(TIME), TOO_LONG).await;
}

/// One instruction cannot be interrupted: the memory that a guest may have bounds how long it
/// takes.
#[tokio::test]
async fn filling_all_memory_again_and_again_ends_at_the_deadline() {
    let guest = Guest {
        memory: "1024",
        handle: "(loop $l
                (memory.fill (i32.const 0) (i32.const 7) (i32.const 67108864))
                (br $l))
            (unreachable)",
        ..Guest::default()
    };
    ends(&guest.component(), || hurried(TIME), TOO_LONG).await;
}

#[tokio::test]
async fn copying_all_memory_again_and_again_ends_at_the_deadline() {
    let guest = Guest {
        memory: "1024",
        handle: "(loop $l
                (memory.copy (i32.const 0) (i32.const 33554432) (i32.const 33554432))
                (br $l))
            (unreachable)",
        ..Guest::default()
    };
    ends(&guest.component(), || hurried(TIME), TOO_LONG).await;
}

#[tokio::test]
async fn reading_past_the_end_of_memory_is_a_trap() {
    // Eight gigabytes on, where other guests have their memories.
    let guest = handler("", "(drop (i64.load offset=4294967288 (i32.const -1))) (unreachable)");
    let out = (FailureClass::Trap, "memory-out-of-bounds", "outside of its memory");
    ends(&guest, || attempt(b""), out).await;
}
