//! Workers that an operator declares dead.

use crate::support::{BOUND, Client, Process, patient, server, worker};
use cofferdam_testkit::{TestDb, wait_for};

/// S62, S71: the jobs of a frozen worker are taken back on the operator's word and run elsewhere.
/// Thawed, it kills its guests and comes back under another id, and its old leases stay dead.
#[tokio::test]
async fn a_frozen_worker_that_is_evicted_comes_back_as_another_one() {
    let db = TestDb::new().await;
    let server = server(&db.url());
    let client = &Client::new(server.url());
    let folder = tempfile::tempdir().unwrap();
    client.push(folder.path(), "misbehave");
    let start = |queues: &str| {
        let mut command = worker(&db.url(), 2);
        command.args(["--queues", queues]).env("COFFERDAM_DRAIN_GRACE", "0s");
        Process::start(patient(&mut command))
    };

    // Given a worker that runs two jobs and freezes
    let mut frozen = start("default");
    let old = frozen.worker().to_owned();
    let submit = "job submit misbehave/slow --input {\"ms\":600000} --count 2";
    let said = client.run(submit).exits(0).text();
    wait_for("both jobs to run", BOUND, async || {
        let running = client.run("job list --state running --json").exits(0).json();
        if running.as_array().unwrap().len() == 2 { Ok(()) } else { Err(running.to_string()) }
    })
    .await;
    frozen.signal("STOP");

    // When it is evicted, then the number of its jobs is said, and another worker gets them
    let evicted = client.run(&format!("worker evict {old}")).exits(0).text();
    assert_eq!(evicted, format!("{old} evicted, 2 jobs taken back"));
    let again = client.run(&format!("worker evict {old} --json")).exits(0).json();
    assert_eq!(again, serde_json::json!({ "id": old, "taken_back": 0 }));
    let mut heir = start("default,other");
    let on_heir = async || {
        for id in said.lines() {
            let job = client.run(&format!("job show {id} --json")).exits(0).json();
            let facts = (&job["state"], &job["worker"], &job["crashes"]);
            if facts != (&"running".into(), &heir.worker().into(), &1.into()) {
                return Err(format!("it is {job}"));
            }
            let errors = job["errors"].as_array().unwrap();
            assert_eq!(errors.len(), 1, "{job}");
            assert_eq!(errors[0]["message"], "worker evicted by an operator", "{job}");
        }
        Ok(())
    };
    wait_for("the jobs to run elsewhere", BOUND, async || on_heir().await).await;

    // When it thaws, then it starts anew, which it only does once its guests are dead
    frozen.signal("CONT");
    let back = frozen.says();
    assert_eq!(back["replaces"], old.as_str(), "{back}");
    let new = back["worker"].as_str().unwrap();
    assert_ne!(new, old);
    let workers = client.run("worker list --json").exits(0).json();
    let found = workers.as_array().unwrap().iter().find(|worker| worker["id"] == new);
    let found = found.unwrap_or_else(|| panic!("{new} is not in {workers}"));
    assert_eq!((&found["occupied"], &found["pid"]), (&0.into(), &back["pid"]), "{workers}");
    assert!(client.run("worker list").exits(0).text().contains("evicted"));

    // And the jobs are where they were, with nothing of the old attempts added
    on_heir().await.unwrap();

    // And it works: with the heir gone, what it gives back is the new worker's to run
    assert_eq!(heir.stop(), Some(0));
    wait_for("the jobs to run on the one that came back", BOUND, async || {
        let job = client.run(&format!("job show {} --json", said.lines().next().unwrap()));
        let job = job.exits(0).json();
        if job["worker"] == new { Ok(()) } else { Err(format!("it is {job}")) }
    })
    .await;
    for id in said.lines() {
        client.run(&format!("job cancel {id}")).exits(0);
    }
    assert_eq!(frozen.stop(), Some(0));
}
