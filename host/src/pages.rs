//! The pages of documentation that are generated from the code, and the tests that keep them so.
//!
//! `UPDATE_SNAPSHOTS=1 cargo test -p cofferdam pages` writes them anew.

use crate::cli::Cli;
use crate::env::{self, Fallback, Group, Variable};
use crate::exit;
use clap::CommandFactory as _;
use std::fmt::Write as _;
use std::path::Path;

/// Where the pages are.
const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");

/// The sections of the page about configuration, in order.
const GROUPS: [(Group, &str); 10] = [
    (Group::Client, "Client commands"),
    (Group::Server, "Server"),
    (Group::Database, "Database"),
    (Group::Installation, "The installation's key"),
    (Group::Worker, "Worker"),
    (Group::Recovery, "Recovery"),
    (Group::Retention, "Retention"),
    (Group::Sandbox, "Sandbox"),
    (Group::Dev, "Development"),
    (Group::Output, "Output"),
];

#[test]
fn the_page_about_configuration_is_current() {
    assert_page("configuration.md", &configuration());
}

#[test]
fn the_page_about_the_command_line_is_current() {
    assert_page("cli.md", &cli());
}

#[test]
fn flags_name_their_variables() {
    let page = cli();
    for variable in env::ALL {
        if let Some(flag) = variable.flag {
            assert!(page.contains(flag), "{flag} is no flag of any command");
            assert!(page.contains(variable.name), "no help names {}", variable.name);
        }
    }
}

#[track_caller]
fn assert_page(name: &str, expected: &str) {
    let path = Path::new(DOCS).join(name);
    #[expect(clippy::disallowed_methods, reason = "says that the page is to be rewritten")]
    if std::env::var("UPDATE_SNAPSHOTS").is_ok_and(|value| value == "1") {
        std::fs::write(&path, expected).unwrap();
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        found, expected,
        "docs/{name} is not what the code says: `UPDATE_SNAPSHOTS=1 cargo test -p cofferdam pages` writes it anew"
    );
}

fn configuration() -> String {
    let mut page = "\
# Configuration

<!-- Generated from host/src/env: change it there. -->

A setting is taken from the first of these that has it: the flag, the environment variable, the
configuration file, the default. An empty variable counts as not set. `cofferdam doctor` prints
every setting with its value and where it came from.

The configuration file is TOML with the keys below at its top level, and is named by `--config` or
`COFFERDAM_CONFIG`. Unknown keys are errors. (`cofferdam.toml` beside a component is something
else: its manifest.)

```toml
# cofferdam-server.toml
listen = \"0.0.0.0:7070\"
database_url = \"postgres://cofferdam@db/cofferdam\"
slots = 64
queues = [\"images\", \"reports\"]
drain_grace = \"2m\"
```

Durations are written like `250ms`, `10s`, `5m`, `1h30m` or `2d`, sizes like `512B`, `64KiB`,
`16MiB` or `1GiB`. Anything else is refused.
"
    .to_owned();
    for (group, title) in GROUPS {
        let _ = write!(page, "\n## {title}\n");
        page.push_str(introduction(group));
        for variable in env::ALL.iter().filter(|variable| variable.group == group) {
            page.push_str(&entry(variable));
        }
    }
    page
}

/// What a section says before its settings.
fn introduction(group: Group) -> &'static str {
    match group {
        Group::Recovery => {
            "\nSet these alike on every worker: each may come to lead, and the leader's count. \
             `cofferdam doctor`\nprints the bounds that follow from them, with their formulas.\n"
        }
        Group::Installation => {
            "\nOne key, from which every other one is derived. Every server and worker of an \
             installation needs\nthe same, and somebody a copy: [secrets.md](secrets.md) says what \
             is lost without it.\n"
        }
        Group::Client
        | Group::Database
        | Group::Server
        | Group::Worker
        | Group::Retention
        | Group::Sandbox
        | Group::Dev
        | Group::Output => "",
    }
}

fn entry(variable: &Variable) -> String {
    let Variable { name, key, flag, default, what, .. } = variable;
    let mut facts = Vec::new();
    facts.extend(flag.map(|flag| format!("flag `{flag}`")));
    facts.extend(key.map(|key| format!("key `{key}`")));
    match default {
        Fallback::Text(text) => facts.push(format!("default `{text}`")),
        Fallback::Computed(text) => facts.push(format!("default: {text}")),
        Fallback::Nothing => {}
    }
    let facts = if facts.is_empty() { String::new() } else { format!("{}.  \n", facts.join(", ")) };
    format!("\n### `{name}`\n\n{facts}{what}\n")
}

fn cli() -> String {
    let mut page = "\
# The command line

<!-- Generated from host/src/cli: change it there. -->

Data goes to standard output, everything else to standard error. `--json` prints one object or
array on a line, or one object a line for streams (`job logs`, several jobs of `job submit`), and an
error as one object on standard error: `error`, `causes`, `hints`, `code`, `request_id`, `exit`.
Nothing ever asks a question. Colours follow `--color` and `NO_COLOR`.

```text
"
    .to_owned();
    page.push_str(exit::MEANINGS);
    page.push_str("\n```\n");
    let mut tree = Cli::command().term_width(100);
    tree.build();
    walk(&mut tree, "", &mut page);
    page
}

fn walk(command: &mut clap::Command, path: &str, page: &mut String) {
    let path = format!("{path} {}", command.get_name()).trim_start().to_owned();
    let help = command.clone().term_width(100).render_help().to_string();
    let help: Vec<_> = help.lines().map(str::trim_end).collect();
    let _ = write!(page, "\n## `{path}`\n\n```text\n{}\n```\n", help.join("\n").trim_end());
    for sub in command.get_subcommands_mut() {
        if sub.get_name() != "help" && !sub.is_hide_set() {
            walk(sub, &path, page);
        }
    }
}
