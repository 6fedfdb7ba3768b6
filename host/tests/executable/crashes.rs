//! Processes that are killed: nothing is lost, nothing is done twice.

use crate::support::{BOUND, Client, Process, bare, dev, patient, quick, server, worker};
use cofferdam_testkit::{TestDb, wait_for};
use std::collections::HashMap;

const JOBS: usize = 24;

#[tokio::test]
async fn jobs_of_a_killed_worker_end_exactly_once() {
    let db = TestDb::new().await;
    let server = server(&db.url());
    let client = &Client::new(server.url());
    let folder = tempfile::tempdir().unwrap();
    client.push(folder.path(), "misbehave");

    // Given a worker in the middle of more jobs than it has slots
    let mut doomed = Process::start(&mut worker(&db.url(), 8));
    let input = "{\"ms\":400}";
    let said =
        client.run(&format!("job submit misbehave/slow --input {input} --count {JOBS}")).exits(0);
    let ids: Vec<_> = said.text().lines().map(str::to_owned).collect();
    wait_for("jobs in flight", BOUND, async || {
        let running = client.run("job list --state running --json").exits(0).json();
        let running = running.as_array().unwrap().len();
        if running >= 4 { Ok(()) } else { Err(format!("{running} run")) }
    })
    .await;

    // When it is killed, and another one starts
    doomed.kill();
    let mut heir = Process::start(&mut worker(&db.url(), 8));

    // Then every job completes, and the ones that were lost say so. The heir was not there when
    // the session of the other one ended, so it trusts the heartbeats alone.
    let mut lost = 0;
    for id in &ids {
        client.run(&format!("job wait {id} --timeout 2m")).exits(0);
        let job = client.run(&format!("job show {id} --json")).exits(0).json();
        let errors = job["errors"].as_array().unwrap();
        lost += errors.len();
        for error in errors {
            assert_eq!(error["class"], "lost", "{job}");
            assert_eq!(error["message"], "heartbeat stale: worker presumed dead", "{job}");
        }
        assert_eq!(job["crashes"].as_u64(), Some(errors.len() as u64), "{job}");
    }
    assert!(lost >= 1, "nothing was in flight when the worker was killed");
    let mut states: HashMap<String, usize> = HashMap::new();
    for job in client.run("job list -n 1000 --json").json().as_array().unwrap() {
        *states.entry(job["state"].to_string()).or_default() += 1;
    }
    assert_eq!(states, HashMap::from([("\"completed\"".to_owned(), JOBS)]));
    assert_eq!(db.count("leases").await, 0);
    assert_eq!(heir.stop(), Some(0));
}

/// Waits until every worker has proven its session while those of all others were there. Before
/// that, whoever is left does not know that the session did not end together with Postgres.
async fn each_proven_to_each(client: &Client) {
    let seen = || -> HashMap<String, String> {
        let workers = client.run("worker list --json").exits(0).json();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let workers = workers.as_array().unwrap().iter();
        workers.map(|worker| (text(&worker["id"]), text(&worker["seen_at"]))).collect()
    };
    // Times of one form and one clock, the database's, sort as text.
    let all_there = seen().into_values().max().unwrap();
    wait_for("all workers to be seen again", BOUND, async || {
        let seen = seen();
        if seen.values().all(|at| *at > all_there) { Ok(()) } else { Err(format!("{seen:?}")) }
    })
    .await;
}

/// S60, D2: a process that dies loses its database session, and its jobs are back within seconds,
/// although its heartbeats would be good for a minute and a half.
#[tokio::test]
async fn the_death_of_a_process_is_noticed_by_its_session() {
    // Given two workers with the heartbeats of production, of which one runs a job
    let db = TestDb::new().await;
    let server = server(&db.url());
    let client = &Client::new(server.url());
    let folder = tempfile::tempdir().unwrap();
    client.push(folder.path(), "misbehave");
    let start = || Process::start(patient(&mut worker(&db.url(), 1)));
    let mut workers = [start(), start()];
    each_proven_to_each(client).await;
    let id = client.run("job submit misbehave/slow --input {\"ms\":2000}").exits(0).text();
    let runs_on = wait_for("the job to run", BOUND, async || {
        let job = client.run(&format!("job show {id} --json")).exits(0).json();
        match job["worker"].as_str() {
            Some(worker) if job["state"] == "running" => Ok(worker.to_owned()),
            _ => Err(format!("it is {job}")),
        }
    })
    .await;

    // When that one is killed
    for worker in &mut workers {
        if worker.worker() == runs_on {
            worker.kill();
        }
    }

    // Then the other one runs the job, long before a heartbeat is stale
    client.run(&format!("job wait {id} --timeout 3m")).exits(0);
    let job = client.run(&format!("job show {id} --json")).exits(0).json();
    assert_eq!(job["errors"].as_array().map(Vec::len), Some(1), "{job}");
    let error = &job["errors"][0];
    assert_eq!(error["message"], "worker gone: its database session ended", "{job}");
    assert_eq!((&error["class"], &error["code"]), (&"lost".into(), &"worker_gone".into()));
    assert_eq!(job["crashes"], 1, "{job}");
}

#[tokio::test]
async fn a_worker_that_is_told_to_stop_finishes_what_it_runs() {
    let db = TestDb::new().await;
    let mut process = dev(&db.url());
    let client = &Client::new(process.url());
    let folder = tempfile::tempdir().unwrap();
    client.push(folder.path(), "misbehave");
    let id = client.run("job submit misbehave/slow --input {\"ms\":1500}").exits(0).text();
    wait_for("the job to run", BOUND, async || {
        let job = client.run(&format!("job show {id} --json")).exits(0).json();
        if job["state"] == "running" { Ok(()) } else { Err(format!("it is {job}")) }
    })
    .await;

    assert_eq!(process.stop(), Some(0));

    let again = dev(&db.url());
    let client = Client::new(again.url());
    let job = client.run(&format!("job show {id} --json")).exits(0).json();
    assert_eq!(
        (&job["state"], &job["errors"]),
        (&"completed".into(), &serde_json::json!([])),
        "{job}"
    );
}

#[tokio::test]
async fn a_second_signal_gives_back_what_runs() {
    let db = TestDb::new().await;
    let mut process = dev(&db.url());
    let client = &Client::new(process.url());
    let folder = tempfile::tempdir().unwrap();
    client.push(folder.path(), "misbehave");
    let id = client.run("job submit misbehave/slow --input {\"ms\":600000}").exits(0).text();
    wait_for("the job to run", BOUND, async || {
        let job = client.run(&format!("job show {id} --json")).exits(0).json();
        if job["state"] == "running" { Ok(()) } else { Err(format!("it is {job}")) }
    })
    .await;

    // When it is told to stop, and told again once it drains
    process.signal("TERM");
    wait_for("the drain", BOUND, async || {
        let workers = client.run("worker list --json").exits(0).json();
        if workers[0]["draining"] == true { Ok(()) } else { Err(format!("there is {workers}")) }
    })
    .await;
    assert_eq!(process.stop(), Some(0));

    // Then the job waits for the next worker, and has lost no attempt
    let server = server(&db.url());
    let job = Client::new(server.url()).run(&format!("job show {id} --json")).exits(0).json();
    assert_eq!((&job["state"], &job["attempts"]), (&"available".into(), &0.into()), "{job}");
    assert_eq!(job["crashes"], 0, "{job}");
}

#[tokio::test]
async fn dev_keeps_its_data_through_its_own_death() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let start = |fresh: bool| {
        let mut command = bare();
        command.args(["dev", "--listen", "127.0.0.1:0", "--slots", "2", "--data-dir"]).arg(&data);
        if fresh {
            command.arg("--fresh");
        }
        quick(&mut command);
        Process::start(&mut command)
    };

    // Given a module and a finished job in a private Postgres
    let mut process = start(false);
    let client = Client::new(process.url());
    client.push(folder.path(), "markdown");
    let id = client.pipe("job submit markdown --input -", b"x").exits(0).text();
    client.run(&format!("job wait {id}")).exits(0);

    // When the process is killed without a chance to stop Postgres, the next one finds all of it
    process.kill();
    let mut process = start(false);
    let client = Client::new(process.url());
    assert_eq!(client.run(&format!("job output {id}")).exits(0).stdout, b"<p>x</p>\n");
    client.pipe("job submit markdown --input - --wait", b"y").exits(0);

    // When it is stopped well, the next one does, too
    assert_eq!(process.stop(), Some(0));
    let mut process = start(false);
    Client::new(process.url()).run(&format!("job show {id}")).exits(0);
    assert_eq!(process.stop(), Some(0));

    // When it is told to start fresh, nothing is left
    let mut process = start(true);
    let client = Client::new(process.url());
    client.run(&format!("job show {id}")).exits(1);
    assert_eq!(client.run("module list --json").json(), serde_json::json!([]));
    assert_eq!(process.stop(), Some(0));
}

#[tokio::test]
async fn a_port_that_is_taken_is_said_before_anything_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let data = folder.path().join("data");
    let mut command = bare();
    command.args(["dev", "--listen", &address, "--data-dir"]).arg(&data);
    crate::support::finish(&mut command).exits(1).complains(&[
        &format!("cannot listen on {address}"),
        "in use",
        "--listen",
    ]);
    assert!(!data.exists());
}
