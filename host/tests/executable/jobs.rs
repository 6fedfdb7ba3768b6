//! Modules, jobs, queues and dead letters through the executable, against a server and a worker.

use crate::support::{Client, Process, dev, example_file, finish};
use cofferdam_testkit::TestDb;
use serde_json::Value;
use std::time::Duration;

struct Stage {
    folder: tempfile::TempDir,
    client: Client,
    process: Process,
    db: TestDb,
}

/// A server and a worker on a database of their own, with these examples pushed.
async fn stage(examples: &[&str]) -> Stage {
    let db = TestDb::new().await;
    let process = dev(&db.url());
    let client = Client::new(process.url());
    let folder = tempfile::tempdir().unwrap();
    for example in examples {
        client.push(folder.path(), example);
    }
    Stage { folder, client, process, db }
}

/// Asks until the answer is as wanted.
async fn until(client: &Client, args: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    cofferdam_testkit::wait_for(args, crate::support::BOUND, async || {
        let said = client.run(args).exits(0).json();
        if wanted(&said) { Ok(said) } else { Err(format!("it said {said}")) }
    })
    .await
}

#[tokio::test]
async fn a_module_is_pushed_shown_replaced_and_deleted() {
    let Stage { folder, client, .. } = &stage(&[]).await;
    let file = example_file(folder.path(), "markdown");

    // Given a module that is pushed without a version
    let pushed = client.run_args(&["module", "push", &file, "--name", "markdown"]).exits(0);
    assert_eq!(pushed.text(), "markdown@1");
    pushed.complains(&["validated", "compiled", "stored", "handles markdown"]);

    // Then the same bytes again are the same version
    let again = client
        .run_args(&["module", "push", &file, "--name", "markdown@1", "--json"])
        .exits(0)
        .json();
    assert_eq!((&again["version"], &again["created"]), (&"1".into(), &false.into()));

    // And other bytes under that version are refused, with nothing changed
    let other = example_file(folder.path(), "misbehave");
    client
        .run_args(&["module", "push", &other, "--name", "markdown@1"])
        .exits(1)
        .complains(&["error:", "markdown", "hint:"]);

    // When another version is pushed without being made current
    client.run_args(&["module", "push", &other, "--name", "markdown@2", "--no-activate"]).exits(0);
    let shown = client.run("module show markdown --json").exits(0).json();
    assert_eq!(shown["current"], "1");
    assert_eq!(shown["versions"].as_array().unwrap().len(), 2);
    client.run("module activate markdown@2").exits(0);
    assert_eq!(client.run("module show markdown --json").json()["current"], "2");
    let shown = client.run("module show markdown@2").exits(0);
    assert!(shown.text().contains("kind fail-until"), "{shown}");
    assert!(client.run("module list").exits(0).text().contains("markdown"));

    // Then it can be deleted
    client.run("module delete markdown@1").exits(0);
    client.run("module delete markdown").exits(0);
    client.run("module show markdown").exits(1).complains(&["error:", "markdown"]);
    assert_eq!(client.run("module list --json").json(), serde_json::json!([]));
}

#[tokio::test]
async fn a_job_gives_back_what_its_handler_gave() {
    let Stage { folder, client, .. } = &stage(&["markdown"]).await;
    let page = folder.path().join("page.md");
    std::fs::write(&page, "# Hello\n\n| a | b |\n|---|---|\n| 1 | 2 |\n").unwrap();
    let input = format!("@{}", page.display());

    // When it is waited for, its output is on standard output as the handler gave it
    let said =
        client.run_args(&["job", "submit", "markdown", "--input", &input, "--wait"]).exits(0);
    assert!(said.stdout.starts_with(b"<h1>Hello</h1>\n<table>"), "{said}");

    // When it is followed, its log is on standard error
    let said = client.pipe("job submit markdown/markdown --input - --follow", b"*hi*").exits(0);
    assert_eq!(said.stdout, b"<p><em>hi</em></p>\n");
    said.complains(&["bytes of Markdown became"]);

    // When it is not waited for, its id is printed, and leads to everything
    let id = client.pipe("job submit markdown --input - --metadata who=me", b"x").exits(0).text();
    client.run(&format!("job wait {id}")).exits(0);
    assert_eq!(client.run(&format!("job output {id}")).exits(0).stdout, b"<p>x</p>\n");
    assert_eq!(client.run(&format!("job input {id}")).exits(0).stdout, b"x");
    let shown = client.run(&format!("job show {id} --json")).exits(0).json();
    assert_eq!(shown["state"], "completed");
    assert_eq!(shown["metadata"]["who"], "me");
    assert!(shown["usage"]["fuel"].as_u64().unwrap() > 0);
    assert!(client.run(&format!("job show {id}")).text().contains("who=me"));
    let logs = client.run(&format!("job logs {id} --json")).exits(0).lines();
    assert_eq!(logs[0]["level"], "info");
    let listed = client.run("job list --state completed --kind markdown --json").exits(0).json();
    assert_eq!(listed.as_array().unwrap().len(), 3);

    // When the same id is submitted twice, there is one job
    let twice = format!("job submit markdown --input - --id {id} --json");
    assert_eq!(client.pipe(&twice, b"other").exits(0).json()["created"], false);
    assert_eq!(client.run(&format!("job input {id}")).stdout, b"x");
}

#[tokio::test]
async fn a_program_without_an_sdk_is_a_job() {
    let Stage { client, .. } = &stage(&["wordcount"]).await;
    let said = client.pipe("job submit wordcount --input - --arg --top=1 --wait --json", b"b a b");
    let job = said.exits(0).json();
    assert_eq!(job["state"], "completed");
    assert!(job["output"].to_string().contains("\"b\""), "{job}");
    client
        .pipe("job submit wordcount --input - --arg --nope --wait", b"")
        .exits(1)
        .complains(&["failed"]);
}

#[tokio::test]
async fn how_a_job_ended_is_the_exit_code() {
    let Stage { client, .. } = &stage(&["misbehave"]).await;
    let submit =
        |kind: &str| client.run(&format!("job submit misbehave/{kind} --wait --max-attempts 1"));
    submit("permanent").exits(1).complains(&[
        "failed",
        "permanent: this can never work",
        "job show",
    ]);
    submit("error").exits(1).complains(&["is dead", "error: attempt 1 failed"]);
    submit("panic").exits(4).complains(&["trap", "a handler's own panic", "in the guest"]);
    submit("fuel").exits(4).complains(&["fuel"]);
    client
        .run("job submit misbehave/slow --input {\"ms\":60000} --timeout 300ms")
        .exits(5)
        .complains(&["is still", "job wait"]);
    let json = client.run("job submit misbehave/permanent --wait --json").exits(1).json();
    assert_eq!((&json["state"], &json["class"]), (&"failed".into(), &"permanent".into()));
}

#[tokio::test]
async fn many_jobs_are_submitted_and_waited_for_at_once() {
    let Stage { client, .. } = &stage(&["misbehave"]).await;
    let said = client.run("job submit misbehave/echo --input 1 --count 50 --wait").exits(0);
    assert_eq!(said.text().lines().filter(|line| line.ends_with(" completed")).count(), 50);
    let ids =
        client.run("job submit misbehave/echo --input 1 --count 3 --delay 1h").exits(0).text();
    assert_eq!(ids.lines().count(), 3);
    let scheduled = client.run("job list --state scheduled --json").exits(0).json();
    assert_eq!(scheduled.as_array().unwrap().len(), 3);
    // Lists are read page by page
    let all = client.run("job list -n 1000 --json").exits(0).json();
    assert_eq!(all.as_array().unwrap().len(), 53);
    assert_eq!(client.run("job list -n 7 --json").json().as_array().unwrap().len(), 7);
}

#[tokio::test]
async fn a_waiting_and_a_running_job_are_cancelled() {
    let Stage { client, .. } = &stage(&["misbehave"]).await;
    let waiting = client.run("job submit misbehave/echo --delay 1h").exits(0).text();
    let said = client.run(&format!("job cancel {waiting}")).exits(0);
    assert_eq!(said.text(), format!("{waiting} cancelled"));
    client.run(&format!("job cancel {waiting}")).exits(1);

    let running = client.run("job submit misbehave/slow --input {\"ms\":600000}").exits(0).text();
    until(client, &format!("job show {running} --json"), |job| job["state"] == "running").await;
    client.run(&format!("job cancel {running}")).exits(0);
    client.run(&format!("job wait {running} --timeout 30s")).exits(1).complains(&["was cancelled"]);

    // A cancelled job can be brought back
    client.run(&format!("job retry {waiting}")).exits(0);
    client.run(&format!("job wait {waiting}")).exits(0);
}

#[tokio::test]
async fn dead_letters_are_shown_retried_and_purged() {
    let Stage { client, .. } = &stage(&["misbehave"]).await;
    let id = client.run("job submit misbehave/panic --max-attempts 1").exits(0).text();
    client.run(&format!("job wait {id}")).exits(4);
    client.run("job submit misbehave/permanent --wait").exits(1);

    let listed = client.run("dlq list --json").exits(0).json();
    assert_eq!(listed.as_array().unwrap().len(), 2);
    let listed = client.run("dlq list --kind panic").exits(0).text();
    assert!(listed.contains(&id) && listed.contains("trap"), "{listed}");
    let shown = client.run(&format!("dlq show {id}")).exits(0).text();
    assert!(shown.contains("a handler's own panic") && shown.contains("panic"), "{shown}");

    // When one is retried it runs again, and fails again
    assert_eq!(client.run(&format!("dlq retry {id}")).exits(0).text(), "retried 1");
    client.run(&format!("job wait {id}")).exits(4);
    client.run(&format!("dlq show {id} --json")).exits(0);
    assert_eq!(client.run("dlq retry --kind permanent").exits(0).text(), "retried 1");
    until(client, "dlq list --json", |letters| letters.as_array().unwrap().len() == 2).await;

    // When they are purged they are gone
    assert_eq!(client.run("dlq purge --kind panic").exits(0).text(), "purged 1");
    assert_eq!(client.run("dlq purge --all --older-than 1h").exits(0).text(), "purged 0");
    assert_eq!(client.run("dlq purge --all").exits(0).text(), "purged 1");
    client.run(&format!("dlq show {id}")).exits(1);
    assert_eq!(client.run("dlq list --json").exits(0).json(), serde_json::json!([]));
}

#[tokio::test]
async fn a_paused_queue_holds_its_jobs_back() {
    let Stage { client, .. } = &stage(&["misbehave"]).await;
    client.run("queue pause default").exits(0);
    let id = client.run("job submit misbehave/echo --input 1").exits(0).text();
    client.run(&format!("job wait {id} --timeout 500ms")).exits(5);
    let queues = client.run("queue list --json").exits(0).json();
    assert_eq!((&queues[0]["name"], &queues[0]["paused"]), (&"default".into(), &true.into()));
    assert!(client.run("queue list").exits(0).text().contains("paused"));
    client.run("queue resume default").exits(0);
    client.run(&format!("job wait {id} --timeout 30s")).exits(0);
}

#[tokio::test]
async fn workers_and_machines_are_listed() {
    let stage = stage(&[]).await;
    let workers = stage.client.run("worker list --json").exits(0).json();
    assert_eq!(workers[0]["slots"], 8);
    assert_eq!(workers[0]["pid"], stage.process.ready["pid"]);
    assert!(stage.client.run("worker list").exits(0).text().contains("working"));

    let mut doctor = crate::support::bare();
    let said = finish(doctor.args(["doctor", "--json", "--database-url", &stage.db.url()]));
    let findings = said.json();
    let status = |name: &str| {
        let checks = findings["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == name).map(|check| check["status"].clone())
    };
    assert_eq!(status("database"), Some("ok".into()), "{findings}");
    assert_eq!(status("schema"), Some("ok".into()), "{findings}");
    for check in ["sandbox", "landlock", "seccomp"] {
        assert!(status(check).is_some(), "{check}: {findings}");
    }
    let settings = findings["settings"].as_array().unwrap();
    let url = settings.iter().find(|setting| setting["name"] == "database_url").unwrap();
    assert_eq!((&url["value"], &url["origin"]), (&"(hidden)".into(), &"--database-url".into()));
}

#[tokio::test]
async fn a_token_is_asked_for_and_shown() {
    let db = TestDb::new().await;
    let mut command = crate::support::bare();
    command.args(["server", "--listen", "127.0.0.1:0", "--database-url", &db.url()]);
    let mut server = Process::start(command.env("COFFERDAM_TOKEN", "open-sesame"));
    let client = Client::new(server.url());

    client.run("job list").exits(3).complains(&["error:", "COFFERDAM_TOKEN"]);
    finish(client.command().args(["job", "list"]).env("COFFERDAM_TOKEN", "wrong")).exits(3);
    finish(client.command().args(["job", "list"]).env("COFFERDAM_TOKEN", "open-sesame")).exits(0);
    assert_eq!(server.stop(), Some(0), "a server that is told to stop stops well");
}

#[tokio::test]
async fn following_a_log_ends_with_the_job() {
    let Stage { client, .. } = &stage(&["misbehave"]).await;
    let started = std::time::Instant::now();
    let id = client.run("job submit misbehave/slow --input {\"ms\":700}").exits(0).text();
    client.run(&format!("job logs -f {id}")).exits(0);
    let state = client.run(&format!("job show {id} --json")).json()["state"].clone();
    assert_eq!(state, "completed");
    assert!(started.elapsed() >= Duration::from_millis(700));
}
