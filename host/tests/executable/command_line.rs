//! The command line without a server: help, refusals and exit codes, word for word.

use crate::support::{Said, bare, finish, run};
use std::path::Path;

/// What the executable says, word for word, beside this file.
macro_rules! snapshot {
    ($said:expr) => {
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!($said);
        });
    };
}

/// One snapshot for many command lines, so that a reviewer reads them like a session.
fn session(lines: &[&str]) -> String {
    let folder = std::env::current_dir().unwrap().display().to_string();
    let said = lines.iter().map(|line| format!("$ cofferdam {line}\n{}\n", run(line)));
    said.collect::<Vec<_>>().join("\n").replace(&folder, "[here]")
}

fn in_folder(folder: &Path, args: &[&str]) -> Said {
    finish(bare().current_dir(folder).args(args))
}

#[test]
fn usage_errors() {
    snapshot!(session(&[
        "modul list",
        "dlq",
        "job submit markdown --foloow",
        "job submit markdown --deadline 10",
        "job submit markdown --memory 64MB",
        "job submit markdown --priority 9",
        "job submit markdown --delay 10s --at 2030-01-31T08:00:00Z",
        "job submit markdown --input picture.png",
        "job submit Markdown",
        "job show 7",
        "job list --state gone",
        "module activate markdown",
        "module show markdown/markdown",
        "dlq retry",
        "dlq retry --all --kind markdown",
        "dlq purge",
        "dlq purge --older-than 30d",
        "worker --queues a,B list",
        "worker drain 7",
        "module lift markdown",
        "server --listen localhost",
    ]));
}

#[test]
fn unreachable_servers() {
    snapshot!(session(&["job list", "--server ftp://here job list"]));
}

#[test]
fn files_that_are_not_there() {
    snapshot!(session(&[
        "module push nowhere.wasm --name a",
        "module inspect nowhere.wasm",
        "run nowhere.wasm",
        "job submit markdown --input @nowhere.md",
        "--config nowhere.toml job list",
    ]));
}

#[test]
fn errors_in_json() {
    let said = run("--json job submit markdown --deadline 10").exits(2);
    let error: serde_json::Value = serde_json::from_str(&said.stderr).unwrap();
    assert_eq!(error["exit"], 2);
    assert!(error["error"].as_str().unwrap().contains("`10` is not a duration"), "{error}");
    assert!(said.stdout.is_empty());

    let said = run("job list --json").exits(3);
    let error: serde_json::Value = serde_json::from_str(&said.stderr).unwrap();
    assert!(error["hints"][0].as_str().unwrap().contains("cofferdam dev"), "{error}");
}

#[test]
fn colour_only_where_it_is_wanted() {
    let coloured = |args: &str| run(args).stderr.contains('\u{1b}');
    assert!(!coloured("job list"), "not to a pipe");
    assert!(coloured("job list --color always"));
    assert!(!finish(bare().args(["job", "list"]).env("NO_COLOR", "1")).stderr.contains('\u{1b}'));
}

#[test]
fn help_and_version_are_answers() {
    let help = run("--help").exits(0);
    assert!(help.text().contains("Exit codes:"), "{help}");
    assert!(help.stderr.is_empty(), "{help}");
    assert!(run("--version").exits(0).text().starts_with("cofferdam "));
    assert!(run("completion bash").exits(0).text().contains("_cofferdam"));
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    use std::process::Stdio;
    // Given a reader that has gone before the first byte
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    // When much is written
    let mut command = bare();
    command.args(["completion", "bash"]).stdout(Stdio::from(writer)).stderr(Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    // Then nobody complains
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn settings_that_make_no_sense() {
    let folder = tempfile::tempdir().unwrap();
    let with = |text: &str, args: &[&str]| {
        std::fs::write(folder.path().join("server.toml"), text).unwrap();
        in_folder(folder.path(), &[&["--config", "server.toml"], args].concat())
    };
    with("slot = 3", &["job", "list"]).exits(2).complains(&["`slot`", "did you mean `slots`?"]);
    with("slots = ", &["job", "list"]).exits(2).complains(&["is not TOML"]);
    with("drain_grace = \"10\"", &["worker", "--database-url", "postgres://nowhere"])
        .exits(2)
        .complains(&["`10` is not a duration", "server.toml"]);
    with("listen = \"0.0.0.0:7070\"", &["server", "--database-url", "postgres://nowhere"])
        .exits(2)
        .complains(&["without a token", "COFFERDAM_TOKEN"]);
}

#[test]
fn a_named_database_is_not_deleted() {
    let mut command = bare();
    command.args(["dev", "--fresh"]).env("COFFERDAM_DATABASE_URL", "postgres://nowhere");
    finish(&mut command).exits(2).complains(&["--fresh", "COFFERDAM_DATABASE_URL names another"]);
}

#[test]
fn manifests_that_make_no_sense() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.wasm"), b"\0asm").unwrap();
    let with = |text: &str| {
        std::fs::write(folder.path().join("cofferdam.toml"), text).unwrap();
        in_folder(folder.path(), &["module", "push", "a.wasm"])
    };
    with("[limits]\nmemroy = \"64MiB\"").exits(1).complains(&["memroy", "did you mean `memory`?"]);
    with("[limits]\nmemory = \"64MB\"").exits(1).complains(&["`64MB` is not a size"]);
    with("").exits(2).complains(&["the module has no name", "--name a"]);
}

#[test]
fn the_sql_of_the_migrations_needs_no_database() {
    let sql = run("migrate sql").exits(0);
    assert!(sql.text().contains("CREATE TABLE"), "{sql}");
    run("migrate status").exits(2).complains(&["no database is named", "--database-url"]);
}
