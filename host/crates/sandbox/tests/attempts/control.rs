//! What guests ask of the host.

use crate::support::{Guest, Recorder, attempt_for, output, run};
use cofferdam_sandbox::Attempt;
use std::sync::Arc;

const CONTROL: &str = r#"
    (import "cofferdam:job/control@0.1.0" "progress" (func $progress (param i32 i32 i32)))
    (import "cofferdam:job/control@0.1.0" "checkpoint" (func $checkpoint (param i32 i32 i32)))
    (import "cofferdam:job/control@0.1.0" "last-checkpoint" (func $last (param i32)))
    (import "cofferdam:job/control@0.1.0" "cancelled" (func $cancelled (result i32)))
    (import "cofferdam:job/control@0.1.0" "extend-deadline" (func $extend (param i64 i32)))"#;

#[tokio::test]
async fn progress_is_at_most_whole() {
    let host = Arc::new(Recorder::default());
    let guest = Guest {
        imports: CONTROL,
        handle: "(call $progress (i32.const 200) (i32.const 1024) (i32.const 4))
                 (call $ok_number (i64.const 0))",
        ..Guest::default()
    };
    output(run(&guest.component(), attempt_for(&host, b"")).await);
    assert_eq!(*host.progress.lock().unwrap(), [(100, "echo".to_owned())]);
}

#[tokio::test]
async fn checkpoints_come_back() {
    // Given a guest that returns the checkpoint it finds, after it has kept its input as the next
    let host = Arc::new(Recorder::default());
    let guest = Guest {
        imports: CONTROL,
        handle: "(call $last (i32.const 256))
            (if (i32.eqz (i32.load8_u (i32.const 256)))
                (then
                    (call $checkpoint (call $input_ptr (local.get $args))
                        (call $input_len (local.get $args)) (i32.const 288))
                    (call $last (i32.const 256))))
            (call $ok (i32.load (i32.const 260)) (i32.load (i32.const 264)))",
        ..Guest::default()
    }
    .component();
    // when there is none, then it finds its own,
    assert_eq!(output(run(&guest, attempt_for(&host, b"mine")).await), b"mine");
    assert_eq!(*host.checkpoints.lock().unwrap(), [b"mine".to_vec()]);
    // and when an earlier attempt left one, then it finds that.
    let attempt =
        Attempt { last_checkpoint: Some(b"earlier".to_vec()), ..attempt_for(&host, b"mine") };
    assert_eq!(output(run(&guest, attempt).await), b"earlier");
}

#[tokio::test]
async fn refusals_reach_the_guest_as_errors() {
    // Given a host that grants no time, and a checkpoint that is too large
    let host = Arc::new(Recorder::default());
    let guest = Guest {
        imports: CONTROL,
        memory: "20",
        handle: "(call $extend (i64.const 1000) (i32.const 256))
            (call $checkpoint (i32.const 65536) (i32.const 1048577) (i32.const 288))
            (call $ok_number (i64.extend_i32_u (i32.add
                (i32.load8_u (i32.const 256))
                (i32.add
                    (i32.mul (i32.const 10) (i32.load8_u (i32.const 288)))
                    (i32.mul (i32.const 100) (call $cancelled))))))",
        ..Guest::default()
    };
    // when the guest asks, then both are refused, and it goes on.
    let answer = output(run(&guest.component(), attempt_for(&host, b"")).await);
    assert_eq!(answer, 11_u64.to_le_bytes());
    assert!(host.checkpoints.lock().unwrap().is_empty());
}
