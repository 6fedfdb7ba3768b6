//! Workers that cannot go on and say so by how they end.

use crate::support::{BOUND, Client, Process, patient, server, worker};
use cofferdam_testkit::{TestDb, wait_for};
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

/// S7: a worker that loses too many of its guest threads drains, and its process ends with that
/// code. They hang on the log, too: it has a line for each write of a guest to its standard output,
/// from the guest's own thread, and nothing else.
#[tokio::test]
async fn a_worker_that_loses_its_guest_threads_ends_with_that_code() {
    let db = TestDb::new().await;
    let server = server(&db.url());
    let client = &Client::new(server.url());
    let folder = tempfile::tempdir().unwrap();
    client.push(folder.path(), "misbehave");

    // Given a worker whose log nobody reads, and which may lose one thread
    let (mut unread, writer) = std::io::pipe().unwrap();
    let mut command = worker(&db.url(), 4);
    patient(&mut command)
        .env("COFFERDAM_LOG", "off,wasmtime_wasi_io=trace")
        .env("COFFERDAM_STALL_LIMIT", "3s")
        .env("COFFERDAM_MAX_LEAKED", "1")
        .env("COFFERDAM_DRAIN_GRACE", "1s")
        .stderr(writer);
    let mut process = Process::start(&mut command);
    // The command has the pipe as well, which would never end.
    drop(command);

    // When guests write more than the pipe holds, on one thread after the other
    let said = client.run("job submit misbehave/flood-stdout --count 6").exits(0).text();

    // Then the worker leaves: it gives up what it cannot end, and takes no more
    wait_for("the worker to leave", 2 * BOUND, async || {
        let workers = client.run("worker list --json").exits(0).json();
        if workers.as_array().unwrap().is_empty() { Ok(()) } else { Err(workers.to_string()) }
    })
    .await;

    // and its process ends, and says why to whoever listens again.
    let listening = std::thread::spawn(move || {
        let mut words = Vec::new();
        unread.read_to_end(&mut words).unwrap();
        String::from_utf8_lossy(&words).into_owned()
    });
    assert_eq!(process.ends(), Some(70));
    let words = listening.join().unwrap();
    let last = words.lines().last().unwrap_or_default();
    assert!(words.contains("too many threads are stuck in calls of guests"), "{last}");
    // No job has come to an end because of it.
    for id in said.lines() {
        let job = client.run(&format!("job show {id} --json")).exits(0).json();
        assert!(["available", "running"].contains(&job["state"].as_str().unwrap()), "{job}");
    }
}
