//! docs/recovery.md: its walk-throughs as they stand there, and its numbers.

use crate::support::{BOUND, Process, bare, example_file, run};
use cofferdam_testkit::{TestDb, wait_for};
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long a walk may take. The longest waits for a crash and then for ten seconds more.
const WALK: Duration = Duration::from_mins(4);

fn page() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::read_to_string(root.join("docs/recovery.md")).unwrap()
}

/// What stands below a heading, up to the next one.
fn section(page: &str, title: &str) -> String {
    let rest = page.split(&format!("\n### {title}\n")).nth(1).unwrap();
    rest.split("\n### ").next().unwrap().to_owned()
}

/// The first block of a language.
fn block<'a>(text: &'a str, language: &str) -> &'a str {
    let rest = text.split(&format!("```{language}\n")).nth(1).unwrap();
    rest.split("```").next().unwrap()
}

/// A shell with all that it started: ended when the test is over, whatever happened.
struct Shell(Child);

impl Drop for Shell {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.0.wait();
    }
}

/// Whether a line is what the page shows of it: `...` stands for anything, and spaces for spaces.
fn shows(line: &str, shown: &str) -> bool {
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut parts = shown.split("...");
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    for part in parts {
        match rest.split_once(part) {
            // At the end of the pattern anything may follow an ellipsis, and nothing else.
            Some((_, after)) if !part.is_empty() => rest = after,
            _ => return part.is_empty(),
        }
    }
    rest.is_empty()
}

/// Types the commands of a walk into a shell, and looks for what the page says that they print.
async fn walk(title: &str) {
    // Given a server with a database, and a folder that looks as the page says,
    let page = page();
    let preparation = page.split("In the other one, once:").nth(1).unwrap();
    let section = section(&page, title);
    let script = format!("{}{}", block(preparation, "sh"), block(&section, "sh"));
    let folder = tempfile::tempdir().unwrap();
    let guests = folder.path().join("target/wasm32-wasip2/guest");
    std::fs::create_dir_all(&guests).unwrap();
    example_file(&guests, "misbehave");
    let db = TestDb::new().await;
    let mut server = bare();
    server.args(["server", "--listen", "127.0.0.1:0", "--database-url", &db.url()]);
    let server = Process::start(&mut server);

    // when the commands are typed,
    let said = folder.path().join("said");
    let output = File::create(&said).unwrap();
    let mut shell = Command::new("sh");
    for (name, value) in bare().get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let executable = Path::new(env!("CARGO_BIN_EXE_cofferdam"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = format!("{}:{}", executable.parent().unwrap().display(), path.to_string_lossy());
    shell.env("PATH", path).env("COFFERDAM_SERVER", server.url()).env("COFFERDAM_LOG", "warn");
    shell.env("COFFERDAM_DATABASE_URL", db.url());
    shell.args(["-eu", "-c", &script]).current_dir(folder.path()).process_group(0);
    shell.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
    let mut shell = Shell(shell.spawn().unwrap());
    let read = || String::from_utf8_lossy(&std::fs::read(&said).unwrap()).into_owned();
    let status = wait_for("the walk to end", WALK, async || match shell.0.try_wait().unwrap() {
        Some(status) => Ok(status),
        None => Err(read()),
    })
    .await;

    // then they print, in this order, what the page shows.
    let said = read();
    assert!(status.success(), "{status}\n{said}");
    let mut lines = said.lines();
    for shown in block(&section, "text").lines() {
        assert!(lines.any(|line| shows(line, shown)), "no `{shown}` in its place in\n{said}");
    }
    wait_for("all leases to be gone", BOUND, async || match db.count("leases").await {
        0 => Ok(()),
        leases => Err(format!("there are {leases}")),
    })
    .await;
}

/// S105: a worker's death, from the kill to the job's result.
#[tokio::test]
async fn the_walk_through_a_workers_death_runs_as_it_stands() {
    walk("A worker dies").await;
}

/// S106: retries that are used up, a dead letter, and its way back.
#[tokio::test]
async fn the_walk_through_retries_and_a_dead_letter_runs_as_it_stands() {
    walk("Retries, and a dead letter").await;
}

/// S107: a cancel of what runs. There are no jobs yet that depend on others.
#[tokio::test]
async fn the_walk_through_a_cancel_runs_as_it_stands() {
    walk("A cancel").await;
}

/// S28: the bounds on the page are those that the settings come to, and S104: it says what is not
/// promised.
#[test]
fn the_page_has_the_numbers_that_doctor_prints() {
    let page = page();
    let doctor = run("doctor --json").json();
    let bounds = doctor["bounds"].as_array().unwrap();
    assert!(bounds.len() >= 10, "{doctor}");
    for bound in bounds {
        let text = |name: &str| bound[name].as_str().unwrap();
        let (min, max) = (text("min"), text("max"));
        let span = if min == max { max.to_owned() } else { format!("{min}..{max}") };
        let row = format!("| {} | {span} | `{}` |", text("what"), text("formula"));
        assert!(page.lines().any(|line| line == row), "the page should say\n{row}");
    }
    let settings = doctor["settings"].as_array().unwrap();
    let table = page.split("| setting | default |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let mut names = 0;
    for row in rows {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        for name in cells[1].split(", ").map(|name| name.trim_matches('`')) {
            let found = settings.iter().find(|setting| setting["name"] == name);
            let found = found.unwrap_or_else(|| panic!("there is no setting `{name}`"));
            assert_eq!(found["value"], cells[2], "{name}");
            names += 1;
        }
    }
    assert!(names >= 15, "the table has shrunk to {names}");
    for word in ["at least once", "idempotency key", "bound of availability", "synchronous_commit"]
    {
        assert!(page.contains(word), "the page does not speak of `{word}`");
    }
}

#[test]
fn an_ellipsis_on_a_page_stands_for_anything() {
    assert!(shows("  state      completed", "state completed"));
    assert!(shows("attempt 1 at 2026-01-01 00:00:00Z: lost (x)", "attempt 1 at ...: lost (x)"));
    assert!(shows("0197 running, its worker", "... running, its worker"));
    assert!(shows("exit code 4", "exit ..."));
    assert!(!shows("state completed at last", "state completed"));
    assert!(!shows("attempt 1 at noon: trap", "attempt 1 at ...: lost"));
}
