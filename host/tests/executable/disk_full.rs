//! A Postgres whose disk is full: what it cannot store is refused, what runs is kept, and all of it
//! goes on once there is space.

use crate::support::{BOUND, Client, Process, as_worker, bare, finish, patient, server};
use cofferdam_localpg::{Cluster, ClusterSettings};
use cofferdam_testkit::database::count;
use cofferdam_testkit::disk::not_shown;
use cofferdam_testkit::{SmallDisk, wait_for};
use rand::RngExt as _;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::sync::{Arc, Mutex};

/// The size of the disk: three times what an empty cluster takes.
const MEBIBYTES: usize = 160;

/// A Postgres on a small disk.
struct SmallPostgres {
    /// Before the disk, which it is on.
    cluster: Option<Cluster>,
    disk: SmallDisk,
}

impl SmallPostgres {
    /// `None`: not on this machine, as was said to whoever watches.
    fn start(what: &str) -> Option<Self> {
        match SmallDisk::mount(MEBIBYTES) {
            Ok(disk) => {
                let cluster = Some(Self::open(&disk));
                Some(Self { cluster, disk })
            }
            Err(why) => {
                not_shown(what, &why);
                None
            }
        }
    }

    /// Durable, because it may crash.
    fn open(disk: &SmallDisk) -> Cluster {
        let settings = ClusterSettings::new(disk.path().join("data"));
        // The log of changes keeps to what it has when it starts.
        Cluster::open(&settings.with("max_wal_size", "32MB").with("min_wal_size", "32MB")).unwrap()
    }

    fn url(&self) -> String {
        self.cluster.as_ref().unwrap().url("postgres")
    }

    /// Starts it again, where it has ended or not.
    fn restart(&mut self) {
        self.cluster.take().unwrap().stop().unwrap();
        self.cluster = Some(Self::open(&self.disk));
    }
}

impl Drop for SmallPostgres {
    fn drop(&mut self) {
        // It stops better with some space.
        self.disk.free();
    }
}

/// Starts a worker whose warnings can be read.
fn watched_worker(url: &str) -> (Process, Arc<Mutex<String>>) {
    let (reader, writer) = std::io::pipe().unwrap();
    let said = Arc::new(Mutex::new(String::new()));
    let all = Arc::clone(&said);
    std::thread::spawn(move || {
        for line in BufReader::new(reader).lines().map_while(Result::ok) {
            all.lock().unwrap().push_str(&line);
        }
    });
    let mut command = as_worker(bare(), url, 4);
    (Process::start(patient(command.stderr(writer))), said)
}

/// A payload that nothing can make smaller.
fn large_payload() -> Vec<u8> {
    let mut bytes = vec![0; 256 << 10];
    rand::rng().fill(&mut bytes[..]);
    bytes
}

/// Jobs that run for long enough to see the disk full.
async fn running_jobs(client: &Client) -> Vec<String> {
    let submit = "job submit misbehave/slow --input {\"ms\":6000} --count 3";
    let ids: Vec<_> = client.run(submit).exits(0).text().lines().map(str::to_owned).collect();
    wait_for("the jobs to run", BOUND, async || {
        let running = client.run("job list --state running --json").exits(0).json();
        if running.as_array().unwrap().len() == ids.len() {
            Ok(())
        } else {
            Err(running.to_string())
        }
    })
    .await;
    ids
}

fn job(client: &Client, id: &str) -> Value {
    client.run(&format!("job show {id} --json")).exits(0).json()
}

/// The tables that an accepted job leaves a row in.
async fn rows(url: &str) -> [i64; 3] {
    [count(url, "jobs").await, count(url, "ready").await, count(url, "leases").await]
}

/// S87: no space for rows. They are refused one by one, and Postgres lives on.
#[tokio::test]
async fn a_full_disk_refuses_jobs_and_loses_none() {
    let Some(postgres) = SmallPostgres::start("a full disk of the database") else { return };
    let url = &postgres.url();
    finish(bare().args(["migrate", "--database-url", url, "up"])).exits(0);
    let server = server(url);
    let client = &Client::new(server.url());
    let folder = tempfile::tempdir().unwrap();
    client.push(folder.path(), "misbehave");
    let (mut worker, said) = watched_worker(url);

    // Given jobs that run when the disk becomes full
    let ids = running_jobs(client).await;
    postgres.disk.fill();
    let before = rows(url).await;

    // Then a job is refused, with what failed, why, and what to do, and nothing of it is stored
    client.pipe("job submit misbehave/echo --input -", &large_payload()).exits(3).complains(&[
        "could not be stored",
        "the disk of the database is full",
        "hint: free space where Postgres keeps its data",
    ]);
    assert_eq!(rows(url).await, before);

    // and the outcomes of those that end meanwhile are kept
    wait_for("an outcome that finds no space", BOUND, async || {
        let said = said.lock().unwrap().clone();
        let waits = said.contains("no outcome written yet") && said.contains("No space left");
        if waits { Ok(()) } else { Err(format!("the worker said {said:?}")) }
    })
    .await;
    assert_eq!(count(url, "leases").await, 3);

    // until there is space again: then each completes, in the attempt that it was in,
    postgres.disk.free();
    for id in &ids {
        client.run(&format!("job wait {id} --timeout 60s")).exits(0);
        let job = job(client, id);
        let facts = (&job["state"], &job["attempts"], &job["crashes"]);
        assert_eq!(facts, (&"completed".into(), &1.into(), &0.into()), "{job}");
    }
    // and jobs are accepted as before.
    let payload = large_payload();
    let id = client.pipe("job submit misbehave/echo --input -", &payload).exits(0).text();
    client.run(&format!("job wait {id} --timeout 60s")).exits(0);
    assert_eq!(client.run(&format!("job output {id}")).exits(0).stdout, payload);
    assert_eq!(rows(url).await, [4, 0, 0]);
    assert_eq!(worker.stop(), Some(0));
}

/// S100: no space for the log of changes. Postgres itself ends, and cannot start before there is some.
#[tokio::test]
async fn a_postgres_that_a_full_disk_ends_loses_no_job() {
    let what = "a Postgres that a full disk ends";
    let Some(mut postgres) = SmallPostgres::start(what) else { return };
    let url = &postgres.url();
    finish(bare().args(["migrate", "--database-url", url, "up"])).exits(0);
    let server = server(url);
    let client = &Client::new(server.url());
    let folder = tempfile::tempdir().unwrap();
    client.push(folder.path(), "misbehave");
    let (mut worker, _) = watched_worker(url);

    // Given jobs that run when the disk becomes full, and then the log of changes has to grow
    let ids = running_jobs(client).await;
    postgres.disk.fill();
    cofferdam_testkit::database::use_up_the_log(url).await;

    // Then a job is refused, and it is said why
    client
        .pipe("job submit misbehave/echo --input -", b"lost")
        .exits(3)
        .complains(&["the database does not answer", "hint: try again in a moment"]);

    // When there is space, and somebody starts Postgres again
    postgres.disk.free();
    postgres.restart();

    // Then the jobs end by themselves, once each, and nothing of the refused one is there.
    for id in &ids {
        client.run(&format!("job wait {id} --timeout 2m")).exits(0);
        let job = job(client, id);
        assert_eq!(job["state"], "completed", "{job}");
        let errors = job["errors"].as_array().unwrap();
        assert!(errors.iter().all(|error| error["class"] == "lost"), "{job}");
    }
    client.run("job submit misbehave/echo --input {} --wait").exits(0);
    assert_eq!(rows(url).await, [4, 0, 0]);
    assert_eq!(worker.stop(), Some(0));
}
