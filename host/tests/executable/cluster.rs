//! What operators see of the fleet.

use crate::support::{BOUND, Client, Process, finish, server, worker};
use cofferdam_testkit::{TestDb, wait_for};

/// What is said of the two jobs of the test.
const NOTE: &str = "2 job(s) counted running with no live slot";

/// S69, S70: the jobs of a worker that is known to be gone, and that nobody has taken back yet, are
/// said in these very words.
#[tokio::test]
async fn jobs_with_no_live_slot_are_said() {
    let db = TestDb::new().await;
    let server = server(&db.url());
    let client = &Client::new(server.url());
    let folder = tempfile::tempdir().unwrap();
    client.push(folder.path(), "misbehave");
    // A grace that never ends, and heartbeats that never go stale: only the operator acts.
    let patient = |queues: &str| {
        let mut command = worker(&db.url(), 2);
        command
            .args(["--queues", queues])
            .env("COFFERDAM_CRASH_GRACE", "1h")
            .env("COFFERDAM_HEARTBEAT_INTERVAL", "1m")
            .env("COFFERDAM_HEARTBEAT_STALENESS", "2h");
        Process::start(&mut command)
    };

    // Given a fleet of two, of which one runs two jobs
    let leader = patient("other");
    wait_for("the first one to lead", BOUND, async || {
        let cluster = client.run("cluster --json").exits(0).json();
        let leads = cluster["leader"]["worker"] == leader.worker();
        if leads { Ok(()) } else { Err(cluster.to_string()) }
    })
    .await;
    let mut doomed = patient("default");
    client.run("job submit misbehave/slow --input {\"ms\":600000} --count 2").exits(0);
    wait_for("both jobs to run", BOUND, async || {
        let cluster = client.run("cluster --json").exits(0).json();
        let facts = (cluster["running"].as_u64(), cluster["occupied"].as_u64());
        if facts == (Some(2), Some(2)) { Ok(()) } else { Err(cluster.to_string()) }
    })
    .await;
    let said = client.run("worker list").exits(0);
    assert!(said.text().contains("working, leads"), "{said}");
    assert_eq!(said.stderr, "");
    let cluster = client.run("cluster").exits(0);
    assert!(cluster.text().contains(&format!("{}, epoch 1,", leader.worker())), "{cluster}");
    assert!(cluster.text().contains("rescue-heartbeat"), "{cluster}");

    // When that one is killed
    let gone = doomed.worker().to_owned();
    doomed.kill();
    wait_for("the jobs to be orphans", BOUND, async || {
        let cluster = client.run("cluster --json").exits(0).json();
        if cluster["orphaned"] == 2 { Ok(()) } else { Err(cluster.to_string()) }
    })
    .await;

    // Then it is said wherever people look
    let list = client.run("worker list").exits(0).complains(&[NOTE]);
    assert!(list.text().contains("gone since "), "{list}");
    let cluster = client.run("cluster").exits(0).complains(&[NOTE]);
    assert!(cluster.text().contains("default"), "{cluster}");
    let cluster = client.run("cluster --json").exits(0).json();
    assert_eq!(cluster["note"], NOTE);
    assert_eq!(cluster["orphans"][0]["count"], 2, "{cluster}");

    // When an operator evicts it, then nothing is said any more
    client.run(&format!("worker evict {gone}")).exits(0);
    let cluster = client.run("cluster --json").exits(0).json();
    assert_eq!((&cluster["orphaned"], cluster.get("note")), (&0.into(), None), "{cluster}");
    let list = client.run("worker list").exits(0);
    assert_eq!(list.stderr, "");
}

#[tokio::test]
async fn commands_about_workers_and_versions_that_are_none_are_refused() {
    let db = TestDb::new().await;
    let server = server(&db.url());
    let client = &Client::new(server.url());
    let folder = tempfile::tempdir().unwrap();
    client.push(folder.path(), "misbehave");
    let nobody = "01970000-0000-7000-8000-000000000000";
    for verb in ["drain", "evict"] {
        client.run(&format!("worker {verb} {nobody}")).exits(1).complains(&[
            &format!("there is no worker {nobody}"),
            "hint:",
            "worker list",
        ]);
        client.run(&format!("worker {verb} 7")).exits(2).complains(&["`7` is not the id", "hint:"]);
    }
    client.run("module lift misbehave@1").exits(1).complains(&[
        "misbehave@1 is not in quarantine",
        "hint:",
        "module show misbehave",
    ]);
    client.run("module lift misbehave@9").exits(1).complains(&["misbehave@9", "hint:"]);
    client.run("module lift misbehave").exits(2).complains(&["which version"]);
}

/// S37: one command explains what the settings come to.
#[test]
fn doctor_explains_the_bounds_with_their_formulas() {
    let mut command = crate::support::bare();
    command.args(["doctor"]).env("COFFERDAM_CRASH_GRACE", "10s");
    let said = finish(&mut command);
    let text = said.text();
    for part in [
        "10s..10s875ms",
        "crash_grace .. + 500ms + 125ms + 250ms",
        "1m30s..2m",
        "heartbeat_staleness .. + rescue_interval",
        "the leader freezes or is cut off: another one leads",
        "10s..16s",
    ] {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }

    let mut command = crate::support::bare();
    command.args(["doctor", "--json"]).env("COFFERDAM_CRASH_GRACE", "0s");
    let findings = finish(&mut command).json();
    let checks = findings["checks"].as_array().unwrap();
    let odd = checks.iter().find(|check| check["name"] == "recovery").unwrap();
    assert_eq!(odd["status"], "warn", "{odd}");
    assert!(odd["found"].as_str().unwrap().contains("crash_grace is 0s"), "{odd}");
    let bounds = findings["bounds"].as_array().unwrap();
    assert!(bounds.iter().all(|bound| bound["max"].is_string()), "{findings}");
}
