//! Workers that leave when an operator or a supervisor says so: nothing is lost, nothing counted.

use crate::support::{BOUND, Client, Process, dev, patient, server, worker};
use cofferdam_testkit::{TestDb, wait_for};
use serde_json::Value;

const JOBS: usize = 100;

/// Waits until so many jobs run.
async fn running(client: &Client, wanted: usize) {
    wait_for("the jobs to run", BOUND, async || {
        let running = client.run("job list --state running -n 1000 --json").exits(0).json();
        let running = running.as_array().map_or(0, Vec::len);
        if running == wanted { Ok(()) } else { Err(format!("{running} run")) }
    })
    .await;
}

/// A hundred jobs on one worker, which leaves in the way that is given; another one goes on.
async fn leaving(leave: impl FnOnce(&Client, &mut Process)) {
    // Given a worker in the middle of a hundred jobs
    let db = TestDb::new().await;
    let server = server(&db.url());
    let client = &Client::new(server.url());
    let folder = tempfile::tempdir().unwrap();
    client.push(folder.path(), "misbehave");
    let start = |grace: &str| {
        let mut command = worker(&db.url(), JOBS);
        Process::start(patient(&mut command).env("COFFERDAM_DRAIN_GRACE", grace))
    };
    let mut leaver = start("200ms");
    let said = client
        .run(&format!("job submit misbehave/slow --input {{\"ms\":2500}} --count {JOBS}"))
        .exits(0);
    running(client, JOBS).await;

    // When it leaves before they can end, with another one there
    let mut heir = start("2m");
    leave(client, &mut leaver);
    assert_eq!(leaver.ends(), Some(0));

    // Then it is off the list, and every job completes in its first attempt
    let workers = client.run("worker list --json").exits(0).json();
    assert_eq!(workers.as_array().map(Vec::len), Some(1), "{workers}");
    assert_eq!(workers[0]["id"], heir.worker(), "{workers}");
    for id in said.text().lines() {
        client.run(&format!("job wait {id} --timeout 2m")).exits(0);
    }
    let one = said.text().lines().next().map(str::to_owned).unwrap();
    let jobs = client.run("job list -n 1000 --json").exits(0).json();
    let jobs = jobs.as_array().unwrap();
    assert_eq!(jobs.len(), JOBS);
    for job in jobs {
        let facts = (&job["state"], &job["attempts"], job.get("class"));
        assert_eq!(facts, (&"completed".into(), &1.into(), None), "{job}");
    }
    let job = client.run(&format!("job show {one} --json")).exits(0).json();
    assert_eq!(
        (&job["crashes"], &job["errors"], &job["worker"]),
        (&0.into(), &Value::Array(Vec::new()), &heir.worker().into()),
        "{job}"
    );
    assert_eq!(db.count("leases").await, 0);
    assert_eq!(heir.stop(), Some(0));
}

/// S65: by command.
#[tokio::test]
async fn a_worker_that_an_operator_drains_loses_and_counts_nothing() {
    leaving(|client, leaver| {
        let said = client.run(&format!("worker drain {}", leaver.worker())).exits(0).text();
        assert!(said.starts_with(&format!("{} drains, ", leaver.worker())), "{said}");
    })
    .await;
}

/// S65: by SIGTERM, which every supervisor sends.
#[tokio::test]
async fn a_worker_that_its_supervisor_stops_loses_and_counts_nothing() {
    leaving(|_, leaver| leaver.signal("TERM")).await;
}

/// S65: a process that is a server as well stops whole.
#[tokio::test]
async fn a_drained_dev_ends_well() {
    let db = TestDb::new().await;
    let mut process = dev(&db.url());
    let client = &Client::new(process.url());
    let workers = client.run("worker list --json").exits(0).json();
    client.run(&format!("worker drain {}", workers[0]["id"].as_str().unwrap())).exits(0);
    assert_eq!(process.ends(), Some(0));
    assert_eq!(db.count("workers").await, 0);
}
