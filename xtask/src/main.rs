//! The chores of the repository. `cargo xtask --help` lists them.
#![expect(clippy::print_stderr, reason = "a chore tells its reader on standard error what it does")]

mod bench;
mod chaos;
mod checklist;
mod demo;
mod deny;
mod guests;
mod openapi;
mod setup;
mod shell;
mod test;
mod tidy;
mod workspace;

use clap::Parser;
use std::process::ExitCode;

/// The chores of the repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Chore {
    /// Brings what building and testing need: the wasm targets and PostgreSQL's programs.
    Setup,
    /// Starts the whole platform, runs the examples on it and checks every result.
    Demo(demo::Arguments),
    /// Builds the example handlers for the sandbox.
    Guests,
    /// Runs every test, with one private PostgreSQL for all of them.
    Test(test::Arguments),
    /// What Cargo runs in place of a test, so that its lines are known for its own.
    #[command(hide = true)]
    Announce(test::announce::Arguments),
    /// Writes the checklist of what happens on failures, docs/checklist.md, anew.
    Checklist,
    /// Checks the rules of the house that the compiler does not know.
    Tidy,
    /// Checks dependencies: bans, licences, sources, and advisories where they can be fetched.
    Deny,
    /// Writes the document of the HTTP API, docs/openapi.json, anew.
    Openapi,
    /// Measures the figures that the documents state, in release mode.
    Bench(bench::Arguments),
    /// Breaks a running platform for minutes, and checks that nothing was lost.
    Chaos(chaos::Arguments),
}

fn main() -> ExitCode {
    let done = match Chore::parse() {
        Chore::Setup => setup::run(),
        Chore::Demo(arguments) => demo::run(&arguments),
        Chore::Guests => guests::build(),
        Chore::Test(arguments) => test::run(&arguments),
        Chore::Announce(arguments) => test::announce::run(&arguments),
        Chore::Checklist => checklist::run(),
        Chore::Tidy => tidy::run(),
        Chore::Deny => deny::run(),
        Chore::Openapi => openapi::run(),
        Chore::Bench(arguments) => bench::run(&arguments),
        Chore::Chaos(arguments) => chaos::run(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
