//! Guests that want tables and instances.

use crate::guests::raw_command;
use crate::neighbour::{Expected, TIME, ends, never_starts};
use crate::support::{attempt, handler, hurried, limited};
use cofferdam_core::class::FailureClass;
use cofferdam_core::limits::Limits;

/// What becomes of those that want more elements than there are by default.
const OVER: Expected<'_> = (FailureClass::Table, "table-limit", "may have 100000 table elements");

#[tokio::test]
async fn a_table_that_grows_for_ever_ends_at_the_limit() {
    let guest = handler(
        "(table $t 1 funcref)",
        "(loop $l (drop (table.grow $t (ref.null func) (i32.const 64))) (br $l)) (unreachable)",
    );
    ends(&guest, || attempt(b""), OVER).await;
}

#[tokio::test]
async fn a_table_that_grows_in_one_step_is_refused_untouched() {
    let guest = handler(
        "(table $t 1 funcref)",
        "(drop (table.grow $t (ref.null func) (i32.const 0x7fffffff))) (unreachable)",
    );
    ends(&guest, || attempt(b""), OVER).await;
}

#[tokio::test]
async fn tables_that_grow_in_turn_are_added_up() {
    let guest = handler(
        "(table $a 1 funcref) (table $b 1 funcref)",
        "(loop $l
            (drop (table.grow $a (ref.null func) (i32.const 1000)))
            (drop (table.grow $b (ref.null func) (i32.const 1000)))
            (br $l))
         (unreachable)",
    );
    ends(&guest, || attempt(b""), OVER).await;
}

#[tokio::test]
async fn a_component_that_starts_with_too_large_a_table_does_not_start() {
    let guest = handler("(table 50001 funcref)", "(unreachable)");
    let limits = || limited(Limits { table_elements: 50_000, ..Limits::default() });
    let over = (FailureClass::Table, "table-limit", "may have 50000 table elements");
    ends(&guest, limits, over).await;
}

#[tokio::test]
async fn a_component_that_needs_a_huge_table_is_refused() {
    let guest = handler("(table 1000000 funcref)", "(unreachable)");
    never_starts(&guest, "element").await;
}

#[tokio::test]
async fn a_component_with_many_tables_is_refused() {
    let guest = handler(&"(table 1 funcref)".repeat(40), "(unreachable)");
    never_starts(&guest, "table").await;
}

#[tokio::test]
async fn filling_a_table_again_and_again_ends_at_the_deadline() {
    let guest = handler(
        "(table $t 90000 funcref)",
        "(loop $l
            (table.fill $t (i32.const 0) (ref.null func) (i32.const 90000))
            (br $l))
         (unreachable)",
    );
    let late = (FailureClass::Deadline, "deadline", "while it ran guest code");
    ends(&guest, || hurried(TIME), late).await;
}

#[tokio::test]
async fn a_component_that_is_all_bookkeeping_is_refused() {
    // Given one empty core module, started more often than an attempt may have core instances
    let crowd = "(core instance (instantiate $empty))".repeat(250);
    let program = raw_command(&format!(
        r#"(core module $empty)
        {crowd}
        (core module $program (func (export "run") (result i32) (i32.const 0)))
        (core instance $program (instantiate $program))"#
    ));
    never_starts(&program, "instance").await;
}
