//! Everything is killed at once and started again: what was under way goes on where it was.

use crate::support::{BOUND, Client, Process, server, worker};
use cofferdam_testkit::{TestDb, wait_for};

/// Long enough that nothing becomes due before the processes are killed.
const BACKOFF: &str = "[kinds.fail-until]\nbackoff = { constant = \"15s\" }\n";

/// S98, S99: jobs in every state that is not an end. Nobody has to load, replay or repair anything.
#[tokio::test]
async fn jobs_in_every_state_outlive_all_processes() {
    let db = TestDb::new().await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cofferdam.toml"), BACKOFF).unwrap();
    let mut first = server(&db.url());
    let client = Client::new(first.url());
    client.push(folder.path(), "misbehave");
    let submit = |line: &str| client.run(&format!("job submit misbehave/{line}")).exits(0).text();
    let state = async |client: &Client, id: &str, expected: &str| {
        wait_for(expected, BOUND, async || {
            let job = client.run(&format!("job show {id} --json")).exits(0).json();
            if job["state"] == expected { Ok(()) } else { Err(job.to_string()) }
        })
        .await;
    };

    // Given a worker with one slot, and jobs that wait for their backoff, run, wait for a slot, and
    // are not due yet,
    let mut busy = Process::start(&mut worker(&db.url(), 1));
    let retryable = submit("fail-until --input {\"attempt\":2} --max-attempts 2");
    state(&client, &retryable, "retryable").await;
    let running = submit("slow --input {\"ms\":6000}");
    state(&client, &running, "running").await;
    let available = submit("echo --input 1");
    let scheduled = submit("echo --input 2 --delay 15s");

    // when every process is killed, and the next ones are started,
    first.kill();
    busy.kill();
    let second = server(&db.url());
    let client = Client::new(second.url());
    for (id, expected) in [
        (&retryable, "retryable"),
        (&running, "running"),
        (&available, "available"),
        (&scheduled, "scheduled"),
    ] {
        state(&client, id, expected).await;
    }
    let mut next = Process::start(&mut worker(&db.url(), 4));

    // then each goes on where it was: with the attempts that were counted, and at its time.
    let ended = |id: &str| {
        client.run(&format!("job wait {id} --timeout 2m")).exits(0);
        client.run(&format!("job show {id} --json")).exits(0).json()
    };
    let job = ended(&retryable);
    assert_eq!(client.run(&format!("job output {retryable}")).text(), "2", "{job}");
    assert_eq!((&job["attempts"], &job["crashes"]), (&2.into(), &0.into()), "{job}");
    let job = ended(&running);
    assert_eq!((&job["attempts"], &job["crashes"]), (&1.into(), &1.into()), "{job}");
    for id in [&available, &scheduled] {
        let job = ended(id);
        assert_eq!(job["errors"], serde_json::json!([]), "{job}");
    }
    assert_eq!(db.count("leases").await, 0);
    assert_eq!(next.stop(), Some(0));
}
