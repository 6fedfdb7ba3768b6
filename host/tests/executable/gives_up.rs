//! Workers that cannot go on and say so by how they end.

use crate::support::{Process, worker};
use cofferdam_testkit::TestDb;
use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A process whose control runtime hangs ends by itself, with the code on which a supervisor starts
/// it again. Here it hangs on its own log, which nobody reads: the last words cannot be said, and
/// are not waited for.
#[tokio::test]
async fn a_worker_whose_runtime_hangs_ends_with_its_own_code() {
    // Given a worker that logs much, and somebody who reads that
    let db = TestDb::new().await;
    let (mut reader, writer) = std::io::pipe().unwrap();
    let reads = Arc::new(AtomicBool::new(true));
    let goes_on = Arc::clone(&reads);
    let reading = std::thread::spawn(move || {
        let mut some = [0; 4096];
        while goes_on.load(Ordering::Relaxed) && reader.read(&mut some).unwrap() > 0 {}
        reader
    });
    let mut command = worker(&db.url(), 1);
    command.env("COFFERDAM_LOG", "trace").env("COFFERDAM_STALL_LIMIT", "1s").stderr(writer);
    let mut process = Process::start(&mut command);

    // When nobody reads any more, and the pipe is full
    reads.store(false, Ordering::Relaxed);
    let unread = reading.join().unwrap();

    // Then the process does not hang for ever
    assert_eq!(process.ends(), Some(70));
    drop(unread);
}
