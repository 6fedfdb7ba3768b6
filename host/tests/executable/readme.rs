//! The tour of the README, as it stands there.

use crate::support::{BOUND, Client, bare, dev, example_file, finish};
use cofferdam_testkit::{TestDb, wait_for};
use std::path::Path;
use std::process::Command;

/// The commands of the tour, after the one that starts the platform, each with the comment that
/// stands above it.
fn tour(readme: &str) -> Vec<(String, String)> {
    let section = readme.split("## A tour").nth(1).unwrap().split("\n## ").next().unwrap();
    let block = section.split("In another one:").nth(1).unwrap();
    let block = block.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let mut comment = String::new();
    let mut commands = Vec::new();
    for line in block.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(text) => text.clone_into(&mut comment),
            None => commands.push((comment.clone(), line.to_owned())),
        }
    }
    commands
}

#[tokio::test]
async fn the_tour_runs_as_it_stands() {
    // Given a platform, and a folder that looks as the README says,
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("README.md"), &readme).unwrap();
    let guests = folder.path().join("target/wasm32-wasip2/guest");
    std::fs::create_dir_all(&guests).unwrap();
    for example in ["markdown", "misbehave", "wordcount"] {
        example_file(&guests, example);
    }
    let db = TestDb::new().await;
    let process = dev(&db.url());
    wait_for("the server", BOUND, async || {
        let said = Client::new(process.url()).run("queue list");
        if said.code == 0 { Ok(()) } else { Err(said.to_string()) }
    })
    .await;

    // when its commands are typed one after the other,
    let executable = Path::new(env!("CARGO_BIN_EXE_cofferdam"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = format!("{}:{}", executable.parent().unwrap().display(), path.to_string_lossy());
    let commands = tour(&readme);
    assert!(commands.len() >= 9, "the tour has shrunk to {commands:?}");
    for (comment, line) in &commands {
        let mut shell = Command::new("sh");
        // The environment that the other tests give to the executable itself.
        for (name, value) in bare().get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.args(["-c", line]).current_dir(folder.path());
        shell.env("PATH", &path).env("COFFERDAM_SERVER", process.url());
        let said = finish(&mut shell);

        // then each ends as its comment says.
        let fails = comment.contains("exit code 4") && line.contains("--wait");
        assert_eq!(said.code, if fails { 4 } else { 0 }, "{line}\n{said}");
    }
    let page = std::fs::read_to_string(folder.path().join("readme.html")).unwrap();
    assert!(page.starts_with("<h1>Cofferdam</h1>"), "{page}");
}
