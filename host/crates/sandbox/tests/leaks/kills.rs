//! What a kill leaves behind.

use crate::support::{Guest, Recorder, attempt_for, failure, finish, prepare, sandbox, until};
use cofferdam_core::class::FailureClass;
use cofferdam_sandbox::KillReason;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What the process may grow by, in bytes: the allocator keeps some, and a slot that had not been
/// used before keeps what it mapped. A thousand leaks of 32 KiB are past it.
const MORE_MEMORY: u64 = 32 << 20;

/// How many more files may be open: those that the runtime opens when it likes.
const MORE_FILES: usize = 8;

#[tokio::test]
async fn a_thousand_kills_leave_nothing_behind() {
    // Given guests that touch a megabyte each before they spin or wait
    let sandbox = sandbox(2);
    let toucher = Guest {
        memory: "20",
        imports: r#"(import "cofferdam:job/control@0.1.0" "checkpoint"
            (func $checkpoint (param i32 i32 i32)))"#,
        handle: "(memory.fill (i32.const 65536) (i32.const 7) (i32.const 1048576))
                 (call $checkpoint (i32.const 0) (i32.const 0) (i32.const 256))
                 (loop $l (br $l)) (unreachable)",
        ..Guest::default()
    };
    let prepared = prepare(&sandbox, &toucher.component());
    let kill_some = async |count: usize| {
        for round in 0..count / 10 {
            let host = Arc::new(Recorder::default());
            host.stuck.store(round % 2 == 0, Ordering::SeqCst);
            let running: Vec<_> =
                (0..10).map(|_| sandbox.run(&prepared, attempt_for(&host, b""))).collect();
            // Every one has touched its memory.
            until(|| host.arrived.load(Ordering::SeqCst) == 10).await;
            for one in &running {
                one.kill.kill(KillReason::Cancelled);
            }
            for one in running {
                failure(finish(one.outcome()).await, FailureClass::Cancelled);
            }
        }
    };
    kill_some(50).await;
    let (resident, files) = (resident_bytes(), open_files());
    // when a thousand are killed
    kill_some(1_000).await;
    // then neither memory nor files have piled up. A leak of what each touched would be a
    // gigabyte.
    let (resident_now, files_now) = (resident_bytes(), open_files());
    assert!(resident_now < resident + MORE_MEMORY, "{resident} -> {resident_now}");
    assert!(files_now < files + MORE_FILES, "{files} -> {files_now}");
    assert_eq!(sandbox.status().running, 0);
}

fn resident_bytes() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = pages.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}

fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}
