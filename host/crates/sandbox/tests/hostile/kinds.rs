//! Components that answer the question for their kinds with an attack.

use crate::guests::{SPIN, TIMERS};
use crate::neighbour::undescribed;
use crate::support::Guest;
use cofferdam_core::class::FailureClass;
use cofferdam_core::outcome::Failure;
use cofferdam_sandbox::Reject;

/// How a component fails that describes itself so.
async fn fails(imports: &str, describe: &str) -> Failure {
    let guest = Guest { imports, describe, ..Guest::default() };
    match undescribed(&guest.component()).await {
        Reject::Describe(failure) => failure,
        other => panic!("{other:?}"),
    }
}

/// A component that describes itself so must be refused for it.
async fn refused(describe: &str, code: &str, said: &str) {
    let reject = undescribed(&Guest { describe, ..Guest::default() }.component()).await;
    assert_eq!(reject.code(), code, "{reject}");
    assert!(reject.to_string().contains(said), "{reject}");
}

/// A list that is said to have so many kinds, of which the first ones are called `echo`.
fn kinds(echoes: u32, said: u32) -> String {
    format!(
        "(local $i i32) (local $at i32)
         (local.set $at (i32.const 4096))
         (loop $l
            (i32.store (local.get $at) (i32.const 1024))
            (i32.store offset=4 (local.get $at) (i32.const 4))
            (local.set $at (i32.add (local.get $at) (i32.const 88)))
            (br_if $l (i32.lt_u
                (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const {echoes}))))
         (i32.store (i32.const 256) (i32.const 4096))
         (i32.store (i32.const 260) (i32.const {said}))
         (i32.const 256)"
    )
}

/// One kind called `echo` with a text of so many of these bytes where a field of 8 bytes is that
/// has a pointer and a length.
fn with_text(byte: u8, length: u32, field: u32) -> String {
    let (pointer, size) = (2048 + field, 2052 + field);
    format!(
        "(memory.fill (i32.const 65536) (i32.const {byte}) (i32.const {length}))
         (i32.store (i32.const 2048) (i32.const 1024)) (i32.store (i32.const 2052) (i32.const 4))
         (i32.store8 (i32.const 2064) (i32.const 1))
         (i32.store (i32.const 2068) (i32.const 1052)) (i32.store (i32.const 2072) (i32.const 2))
         (i32.store (i32.const {pointer}) (i32.const 65536))
         (i32.store (i32.const {size}) (i32.const {length}))
         (i32.store (i32.const 256) (i32.const 2048))
         (i32.store (i32.const 260) (i32.const 1))
         (i32.const 256)"
    )
}

#[tokio::test]
async fn a_component_that_spins_instead_uses_up_a_small_budget() {
    // It costs fuel and no time, so that the budget is used up before the clock has run out on a
    // machine that does much else.
    let costly = "(drop (i32.const 0))".repeat(1_000);
    let failure = fails("", &format!("(loop $l {costly} (br $l)) (unreachable)")).await;
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Fuel, "out-of-fuel"));
}

#[tokio::test]
async fn a_component_that_grows_instead_may_have_little() {
    let growing = format!("(drop (memory.grow (i32.const 1024))) {SPIN}");
    let failure = fails("", &growing).await;
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Memory, "memory-limit"));
    assert!(failure.message.contains("64MiB"), "{}", failure.message);
}

#[tokio::test]
async fn a_component_that_sleeps_instead_is_not_waited_for() {
    let asleep = "(call $block (call $after (i64.const 3600000000000))) (unreachable)";
    let failure = fails(TIMERS, asleep).await;
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Deadline, "deadline"));
}

#[tokio::test]
async fn a_list_of_four_billion_kinds_is_not_read() {
    let failure = fails("", &kinds(1, u32::MAX)).await;
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Trap, "host-call-failed"));
    assert!(failure.message.contains("out of bounds of memory"), "{}", failure.message);
}

#[tokio::test]
async fn more_kinds_than_can_be_kept_are_refused() {
    refused(&kinds(257, 257), "too-many-kinds", "257 kinds").await;
}

#[tokio::test]
async fn a_kind_that_comes_twice_is_refused() {
    refused(&kinds(2, 2), "duplicate-kind", "`echo` twice").await;
}

#[tokio::test]
async fn names_that_are_none_are_refused() {
    // A path, a line break, and nothing at all.
    for (name, length) in [("../", 3), ("a\\nb", 3), ("", 0)] {
        let describe = kinds(1, 1).replace(
            "(i32.store offset=4 (local.get $at) (i32.const 4))",
            &format!("(i32.store offset=4 (local.get $at) (i32.const {length}))"),
        );
        let items = format!(r#"(data (i32.const 1024) "{name}")"#);
        let guest = Guest { items: &items, describe: &describe, ..Guest::default() };
        let reject = undescribed(&guest.component()).await;
        assert_eq!(reject.code(), "bad-kind", "{reject}");
    }
}

#[tokio::test]
async fn a_name_of_a_megabyte_is_refused_and_not_repeated() {
    let guest = Guest { memory: "20", describe: &with_text(b'a', 1 << 20, 0), ..Guest::default() };
    let reject = undescribed(&guest.component()).await;
    assert_eq!(reject.code(), "bad-kind");
    let text = reject.to_string();
    assert!(text.len() < 1024, "{}", text.len());
}

#[tokio::test]
async fn a_schema_as_deep_as_it_is_long_is_refused() {
    // Readers of JSON call themselves for each bracket.
    let guest = Guest { memory: "2", describe: &with_text(b'[', 60_000, 20), ..Guest::default() };
    let reject = undescribed(&guest.component()).await;
    assert_eq!(reject.code(), "bad-kind");
    assert!(reject.to_string().contains("input schema is not JSON"), "{reject}");
}
