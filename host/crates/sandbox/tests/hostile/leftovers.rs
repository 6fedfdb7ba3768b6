//! Guests that look for what the guest before them has left.

use crate::guests::SPIN;
use crate::neighbour::Neighbour;
use crate::support::{Guest, attempt, failure, handler, output};
use cofferdam_core::class::FailureClass;
use cofferdam_core::outcome::End;
use cofferdam_sandbox::Attempt;
use std::time::{Duration, Instant};

/// How long a guest may spin that has soiled its memory.
const SHORT: Duration = Duration::from_millis(100);

/// Soils four megabytes, one of which it was born with, and every element of its table, and then
/// answers, traps or spins, as its input says: `a`, `t` or `s`.
fn soiler() -> Vec<u8> {
    Guest {
        memory: "16",
        items: &format!(
            "(table $t 5000 funcref)
             (elem declare func $secret)
             (func $secret (result i32) {SPIN})"
        ),
        handle: &format!(
            "(local $how i32)
             (local.set $how (i32.load8_u (call $input_ptr (local.get $args))))
             (drop (memory.grow (i32.const 48)))
             (memory.fill (i32.const 0) (i32.const 0x5a) (i32.const 4194304))
             (table.fill $t (i32.const 0) (ref.func $secret) (i32.const 5000))
             (if (i32.eq (local.get $how) (i32.const 116)) (then (unreachable)))
             (if (i32.eq (local.get $how) (i32.const 115)) (then {SPIN}))
             (call $ok (i32.const 0) (i32.const 0))"
        ),
        ..Guest::default()
    }
    .component()
}

/// Counts the words of such memory that are as the other one leaves them, and the elements of such
/// a table that are not null.
fn searcher() -> Vec<u8> {
    Guest {
        memory: "16",
        items: "(table $t 5000 funcref)",
        handle: "(local $at i32) (local $found i64)
            (drop (memory.grow (i32.const 48)))
            (loop $words
                (local.set $found (i64.add (local.get $found) (i64.extend_i32_u
                    (i64.eq (i64.load (local.get $at)) (i64.const 0x5a5a5a5a5a5a5a5a)))))
                (br_if $words (i32.lt_u
                    (local.tee $at (i32.add (local.get $at) (i32.const 8)))
                    (i32.const 4194304))))
            (local.set $at (i32.const 0))
            (loop $elements
                (local.set $found (i64.add (local.get $found) (i64.extend_i32_u
                    (i32.eqz (ref.is_null (table.get $t (local.get $at)))))))
                (br_if $elements (i32.lt_u
                    (local.tee $at (i32.add (local.get $at) (i32.const 1)))
                    (i32.const 5000))))
            (call $ok_number (local.get $found))",
        ..Guest::default()
    }
    .component()
}

#[tokio::test]
async fn nothing_of_one_guest_is_left_for_the_next_one_in_its_slot() {
    // Given a sandbox with hardly a slot, and two guests of different tenants in turn
    let neighbour = Neighbour::beside(1, 1).await;
    let soiler = neighbour.upload(&soiler()).await.unwrap();
    let searcher = neighbour.upload(&searcher()).await.unwrap();
    neighbour
        .while_it_answers(async {
            for round in 0..36 {
                // when the one ends in any way after it has soiled all that it has,
                let how = [b"a", b"t", b"s"][round % 3];
                let soiling = || Attempt { deadline: Instant::now() + SHORT, ..attempt(how) };
                let soiled = neighbour.run(&soiler, soiling).await.remove(0);
                match soiled.end {
                    End::Failed(failed) => assert!(
                        matches!(failed.class, FailureClass::Trap | FailureClass::Deadline),
                        "{failed:?}"
                    ),
                    End::Completed(_) => assert_eq!(how, b"a"),
                }
                // then the other one finds none of it.
                let found = neighbour.run(&searcher, || attempt(b"")).await.remove(0);
                assert_eq!(output(found), 0_u64.to_le_bytes(), "round {round}");
            }
        })
        .await;
    neighbour.is_well().await;
}

#[tokio::test]
async fn an_attempt_that_trapped_leaves_the_next_one_clean() {
    // Given a guest that leaves a mark in its memory and in a global, tells whether it has found
    // one, and traps when it is told to
    let neighbour = Neighbour::beside(1, 1).await;
    let marker = handler(
        "(global $mark (mut i32) (i32.const 0))",
        "(local $found i32)
         (local.set $found (i32.or (global.get $mark) (i32.load (i32.const 32768))))
         (global.set $mark (i32.const 1))
         (i32.store (i32.const 32768) (i32.const 1))
         (if (call $input_len (local.get $args)) (then (unreachable)))
         (call $ok_number (i64.extend_i32_u (local.get $found)))",
    );
    let marker = neighbour.upload(&marker).await.unwrap();
    neighbour
        .while_it_answers(async {
            for round in 0..10 {
                // when it has trapped, then the next attempt of it is as good as the first.
                let trapped = neighbour.run(&marker, || attempt(b"trap")).await.remove(0);
                failure(trapped, FailureClass::Trap);
                let found = neighbour.run(&marker, || attempt(b"")).await.remove(0);
                assert_eq!(output(found), 0_u64.to_le_bytes(), "round {round}");
            }
        })
        .await;
    neighbour.is_well().await;
}
