//! Jobs that lost their worker once, and run in processes of their own.

use crate::support::{BOUND, Client, Process, as_worker, bare, bare_at, patient, server};
use cofferdam_testkit::{TestDb, wait_for};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

/// How many suspects a worker runs at once.
const AT_ONCE: usize = 4;

/// Submits so many jobs, waits until they run, and has an operator take them back from the worker,
/// which comes back under another id: each has lost one worker then. Their ids.
async fn make_suspects(client: &Client, worker: &Process, count: usize) -> Vec<String> {
    let submit = format!("job submit misbehave/slow --input {{\"ms\":4000}} --count {count}");
    let ids: Vec<_> = client.run(&submit).exits(0).text().lines().map(str::to_owned).collect();
    wait_for("the jobs to run", BOUND, async || {
        let running = client.run("job list --state running --json").exits(0).json();
        let running = running.as_array().unwrap().len();
        if running == count { Ok(()) } else { Err(format!("{running} run")) }
    })
    .await;
    client.run(&format!("worker evict {}", worker.worker())).exits(0);
    ids
}

/// The processes of suspects of a worker.
fn children(worker: u64) -> usize {
    let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let parents = all.filter_map(|process| {
        let stat = fs::read_to_string(process.path().join("stat")).ok()?;
        let (_, fields) = stat.rsplit_once(") ")?;
        let mut fields = fields.split_whitespace();
        let (state, parent) = (fields.next()?, fields.next()?);
        (state != "Z").then(|| parent.parse::<u64>().ok())?
    });
    parents.filter(|parent| *parent == worker).count()
}

/// What became of a job that has ended.
#[track_caller]
fn assert_completed_as_suspect(job: &Value) {
    assert_eq!((&job["state"], &job["crashes"]), (&"completed".into(), &1.into()), "{job}");
    let errors = job["errors"].as_array().unwrap();
    let lost = errors.iter().filter(|error| error["class"] == "lost").count();
    assert_eq!(lost, 1, "{job}");
    // A machine that is slow enough has some wait for longer than they may; nothing counts then.
    assert!(errors.iter().all(|error| error["code"] != "process_died"), "{job}");
}

/// S74: more suspects than a worker runs at once take turns, and none of them is lost, or keeps
/// its slot.
#[tokio::test]
async fn suspects_take_turns() {
    let db = TestDb::new().await;
    let server = server(&db.url());
    let client = &Client::new(server.url());
    let folder = tempfile::tempdir().unwrap();
    client.push(folder.path(), "misbehave");

    // Given a worker with more suspects than it runs at once
    let mut worker = Process::start(patient(&mut as_worker(bare(), &db.url(), 6)));
    let pid = worker.ready["pid"].as_u64().unwrap();
    let ids = make_suspects(client, &worker, 6).await;

    // When they run
    let mut most = 0;
    wait_for("all of them to end", 3 * BOUND, async || {
        most = most.max(children(pid));
        let done = client.run("job list --state completed --json").exits(0).json();
        let done = done.as_array().unwrap().len();
        if done == ids.len() { Ok(()) } else { Err(format!("{done} have")) }
    })
    .await;

    // Then never more of them than may, each ended once, and every slot is free again
    assert!((1..=AT_ONCE).contains(&most), "{most} at once");
    for id in &ids {
        assert_completed_as_suspect(&client.run(&format!("job show {id} --json")).exits(0).json());
    }
    let submit = "job submit misbehave/slow --input {\"ms\":1} --count 6 --wait";
    client.run(submit).exits(0);
    assert_eq!(db.count("leases").await, 0);
    assert_eq!(worker.stop(), Some(0));
}

/// A worker whose file was replaced, as by an upgrade, goes on with what it was started from.
#[tokio::test]
async fn a_replaced_executable_is_not_what_runs() {
    let db = TestDb::new().await;
    let server = server(&db.url());
    let client = &Client::new(server.url());
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    client.push(folder.path(), "misbehave");

    // Given a worker whose file becomes another one while it runs
    let file = folder.path().join("cofferdam");
    fs::hard_link(env!("CARGO_BIN_EXE_cofferdam"), &file).unwrap();
    let mut worker = Process::start(patient(&mut as_worker(bare_at(&file), &db.url(), 1)));
    fs::remove_file(&file).unwrap();
    fs::write(&file, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(!Command::new(&file).status().unwrap().success());

    // When it runs a suspect, then that is run by the same executable as it
    let ids = make_suspects(client, &worker, 1).await;
    for id in &ids {
        client.run(&format!("job wait {id} --timeout 2m")).exits(0);
        assert_completed_as_suspect(&client.run(&format!("job show {id} --json")).exits(0).json());
    }
    assert_eq!(worker.stop(), Some(0));
}
