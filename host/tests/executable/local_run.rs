//! `run` and `module inspect`: a module on this machine, without server and database.

use crate::support::{Said, bare, example_file, finish};
use std::path::Path;
use std::process::Stdio;

struct Local {
    folder: tempfile::TempDir,
}

impl Local {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn run(&self, example: &str, args: &[&str]) -> Said {
        let file = example_file(self.path(), example);
        finish(bare().args(["run", &file]).args(args))
    }
}

#[test]
fn the_output_is_what_the_handler_gave() {
    let local = Local::new();
    let page = local.path().join("page.md");
    std::fs::write(&page, "# Hello\n").unwrap();

    let said = local.run("markdown", &["--input", &format!("@{}", page.display())]).exits(0);

    assert_eq!(said.stdout, b"<h1>Hello</h1>\n");
    said.complains(&["outcome", "completed", "fuel", "peak memory", "bytes of Markdown"]);
}

#[test]
fn an_ordinary_program_gets_arguments_and_standard_input() {
    let local = Local::new();
    let file = example_file(local.path(), "wordcount");
    let text = local.path().join("text");
    std::fs::write(&text, "to be or not to be").unwrap();

    let mut command = bare();
    command.args(["run", &file, "--arg", "--top=1", "--input", "-"]);
    let said = finish(command.stdin(Stdio::from(std::fs::File::open(text).unwrap()))).exits(0);

    assert!(said.text().contains("\"be\"") || said.text().contains("\"to\""), "{said}");
}

#[test]
fn exit_codes_tell_errors_from_limits() {
    let local = Local::new();
    for (kind, code, class) in [
        ("permanent", 1, "permanent"),
        ("error", 1, "error"),
        ("panic", 4, "trap"),
        ("fuel", 4, "fuel"),
        ("allocate", 4, "memory"),
        ("recurse", 4, "stack"),
        ("flood-output", 4, "output"),
    ] {
        let said = local.run("misbehave", &["--kind", kind]).exits(code);
        said.complains(&[&format!("`{kind}` failed: {class}"), "outcome"]);
    }
}

#[test]
fn a_runaway_is_killed_at_the_deadline_that_was_asked_for() {
    let local = Local::new();
    let said =
        local.run("misbehave", &["--kind", "spin", "--deadline", "200ms", "--json"]).exits(4);
    let report = said.json();
    assert_eq!(report["class"], "deadline");
    let wall = report["usage"]["wall_micros"].as_u64().unwrap();
    assert!((200_000..10_000_000).contains(&wall), "{wall} µs");
}

#[test]
fn a_panic_shows_its_message_and_the_guest_s_frames() {
    let local = Local::new();
    let said = local.run("misbehave", &["--kind", "panic", "--attempt", "3"]).exits(4);
    said.complains(&["a handler's own panic, in attempt 3", "in the guest", "panic"]);
}

#[test]
fn json_has_everything_on_one_line() {
    let local = Local::new();
    let said = local.run("misbehave", &["--kind", "echo", "--input", "{\"a\": 1.50}", "--json"]);
    let report = said.exits(0).json();
    assert_eq!(report["outcome"], "completed");
    assert_eq!(report["output"]["a"], 1.5);
    assert!(report["usage"]["fuel"].as_u64().unwrap() > 0);
}

#[test]
fn the_manifest_beside_the_module_counts() {
    let local = Local::new();
    std::fs::write(
        local.path().join("cofferdam.toml"),
        "[kinds.spin.limits]\ndeadline = \"150ms\"\n",
    )
    .unwrap();
    local.run("misbehave", &["--kind", "spin"]).exits(4).complains(&[
        "Manifest:",
        "cofferdam.toml",
        "failed: deadline",
    ]);
}

#[test]
fn kinds_that_are_not_there() {
    let local = Local::new();
    local.run("misbehave", &[]).exits(2).complains(&["several kinds", "echo", "--kind"]);
    local.run("misbehave", &["--kind", "ecko"]).exits(1).complains(&["did you mean --kind echo?"]);
    local.run("markdown", &["--arg", "x"]).exits(2).complains(&["command jobs"]);
}

#[test]
fn input_is_checked_as_a_server_checks_it() {
    let local = Local::new();
    for (input, why) in [("{\"ms\": -1}", "/ms"), ("[", "JSON"), ("", "JSON")] {
        let file = local.path().join("input");
        std::fs::write(&file, input).unwrap();
        let from = format!("@{}", file.display());
        local.run("misbehave", &["--kind", "slow", "--input", &from]).exits(1).complains(&[
            "`slow` does not take this input",
            why,
            "hint:",
        ]);
    }
    local.run("misbehave", &["--kind", "slow", "--input", "{\"ms\": 1}"]).exits(0);
}

#[test]
fn files_that_are_no_modules() {
    let local = Local::new();
    let bad = |name: &str, bytes: &[u8]| {
        let path = local.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let said = finish(bare().args(["module", "inspect", path.to_str().unwrap()])).exits(1);
        let run = finish(bare().args(["run", path.to_str().unwrap()])).exits(1);
        assert!(run.stderr.contains("hint:"), "{run}");
        said.complains(&["cannot be a job", "cause:", "hint:"])
    };
    bad("text.wasm", b"hello");
    bad("empty.wasm", b"");
    bad("core.wasm", b"\0asm\x01\0\0\0");
    let component = cofferdam_testkit::component("markdown");
    bad("cut.wasm", &component[..component.len() / 2]);
    bad("nothing.wasm", b"\0asm\x0d\0\x01\0").complains(&["exports neither"]);
}

#[test]
fn inspecting_says_what_a_component_may_do() {
    let local = Local::new();
    let file = example_file(local.path(), "markdown");
    let said = finish(bare().args(["module", "inspect", &file, "--json"])).exits(0);
    let report = said.json();
    assert_eq!(report["world"], "handler");
    assert!(report["imports"].to_string().contains("cofferdam:job/log"), "{report}");
    assert!(report["exports"].to_string().contains("cofferdam:job/handler"), "{report}");

    let file = example_file(local.path(), "wordcount");
    let report = finish(bare().args(["module", "inspect", &file, "--json"])).exits(0).json();
    assert_eq!(report["world"], "command");
}
