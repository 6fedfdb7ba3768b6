//! Nothing of one attempt reaches another.

use crate::support::{Guest, attempt, finish, output, prepare, sandbox};

#[tokio::test]
async fn a_fresh_instance_sees_zeroed_memory_and_globals() {
    // Given a guest that adds up all of its memory and a global, and then soils both
    let sandbox = sandbox(1);
    let guest = Guest {
        memory: "40",
        items: "(global $dirt (mut i64) (i64.const 0))",
        handle: "(local $at i32) (local $sum i64)
            (local.set $at (i32.const 65536))
            (local.set $sum (global.get $dirt))
            (loop $l
                (local.set $sum (i64.add (local.get $sum) (i64.load (local.get $at))))
                (br_if $l (i32.lt_u
                    (local.tee $at (i32.add (local.get $at) (i32.const 8)))
                    (i32.const 2621440))))
            (global.set $dirt (i64.const 1))
            (memory.fill (i32.const 65536) (i32.const 0xaa) (i32.const 2555904))
            (drop (memory.grow (i32.const 8)))
            (memory.fill (i32.const 2621440) (i32.const 0xaa) (i32.const 524288))
            (call $ok_number (local.get $sum))",
        ..Guest::default()
    };
    let prepared = prepare(&sandbox, &guest.component());
    // when it runs many times over the same pool
    for round in 0..20 {
        let sum = output(finish(sandbox.run(&prepared, attempt(b"")).outcome()).await);
        // then it never sees what an earlier instance left.
        assert_eq!(sum, 0_u64.to_le_bytes(), "round {round}");
    }
}

#[tokio::test]
async fn memory_that_is_grown_is_zeroed_as_well() {
    let sandbox = sandbox(1);
    let dirty = Guest {
        memory: "1",
        handle: "(drop (memory.grow (i32.const 64)))
                 (memory.fill (i32.const 65536) (i32.const 0xaa) (i32.const 4194304))
                 (call $ok_number (i64.const 0))",
        ..Guest::default()
    };
    let curious = Guest {
        memory: "1",
        handle: "(local $at i32) (local $sum i64)
            (drop (memory.grow (i32.const 64)))
            (local.set $at (i32.const 65536))
            (loop $l
                (local.set $sum (i64.add (local.get $sum) (i64.load (local.get $at))))
                (br_if $l (i32.lt_u
                    (local.tee $at (i32.add (local.get $at) (i32.const 8)))
                    (i32.const 4259840))))
            (call $ok_number (local.get $sum))",
        ..Guest::default()
    };
    let dirty = prepare(&sandbox, &dirty.component());
    let curious = prepare(&sandbox, &curious.component());
    for _ in 0..10 {
        output(finish(sandbox.run(&dirty, attempt(b"")).outcome()).await);
        let sum = output(finish(sandbox.run(&curious, attempt(b"")).outcome()).await);
        assert_eq!(sum, 0_u64.to_le_bytes());
    }
}
