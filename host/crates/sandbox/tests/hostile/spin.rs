//! Guests that spin, wherever the host gives them control.

use crate::guests::{SPIN, raw_command, with_allocator};
use crate::neighbour::{Expected, TIME, ends};
use crate::support::{Guest, command, handler, hurried, limited};
use cofferdam_core::class::FailureClass;
use cofferdam_core::limits::Limits;

/// What becomes of them.
const IN_ITS_OWN_CODE: Expected<'_> =
    (FailureClass::Deadline, "deadline", "while it ran guest code");

#[tokio::test]
async fn a_handler_that_spins_ends_at_its_deadline() {
    ends(&handler("", SPIN), || hurried(TIME), IN_ITS_OWN_CODE).await;
}

#[tokio::test]
async fn a_command_that_spins_ends_at_its_deadline() {
    ends(&command("", SPIN), || hurried(TIME), IN_ITS_OWN_CODE).await;
}

#[tokio::test]
async fn a_start_function_that_spins_ends_at_the_deadline() {
    let guest = handler("(func $forever (loop $l (br $l))) (start $forever)", "(unreachable)");
    ends(&guest, || hurried(TIME), IN_ITS_OWN_CODE).await;
}

#[tokio::test]
async fn an_allocator_that_spins_ends_at_the_deadline() {
    // The host is in the middle of handing the arguments over.
    let guest = with_allocator("", SPIN, "(unreachable)");
    ends(&guest, || hurried(TIME), IN_ITS_OWN_CODE).await;
}

#[tokio::test]
async fn a_clean_up_that_spins_ends_at_the_deadline() {
    // The host has the output already and lets the guest free it.
    let items = r#"(func (export "cabi_post_cofferdam:job/handler@0.1.0#handle") (param i32)
        (loop $l (br $l)))"#;
    let guest = Guest { items, ..Guest::default() }.component();
    ends(&guest, || hurried(TIME), IN_ITS_OWN_CODE).await;
}

#[tokio::test]
async fn a_destructor_that_spins_ends_at_the_deadline() {
    let program = raw_command(
        r#"(core module $destroyer
            (func (export "destroy") (param i32) (loop $l (br $l))))
        (core instance $destroyer (instantiate $destroyer))
        (alias core export $destroyer "destroy" (core func $destroy))
        (type $thing (resource (rep i32) (dtor (func $destroy))))
        (core func $new (canon resource.new $thing))
        (core func $drop (canon resource.drop $thing))
        (core module $program
            (import "thing" "new" (func $new (param i32) (result i32)))
            (import "thing" "drop" (func $drop (param i32)))
            (func (export "run") (result i32)
                (call $drop (call $new (i32.const 7))) (i32.const 0)))
        (core instance $program (instantiate $program (with "thing" (instance
            (export "new" (func $new)) (export "drop" (func $drop))))))"#,
    );
    ends(&program, || hurried(TIME), IN_ITS_OWN_CODE).await;
}

#[tokio::test]
async fn a_guest_that_uses_up_its_fuel_ends_before_its_deadline() {
    let limits = || limited(Limits { fuel: 100_000, ..Limits::default() });
    let spent = (FailureClass::Fuel, "out-of-fuel", "the fuel budget of 100000 is used up");
    ends(&handler("", SPIN), limits, spent).await;
}
