//! `cargo xtask bench`: measures the figures that the documents state, in release mode.

use crate::{guests, setup, shell, workspace};
use anyhow::Result;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Passed on: `cost`, `latency`, `kill`, `beats`, `leaks`, `leases`, `crash`, `--quick`,
    /// `--check`, `--json FILE`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Builds the bench and the guests, and runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    setup::run()?;
    guests::build()?;
    if arguments.arguments.iter().any(|argument| argument == "crash") {
        let mut cargo = workspace::cargo();
        shell::run(cargo.args(["build", "--release", "--package", "cofferdam"]))?;
    }
    let mut cargo = workspace::cargo();
    cargo.args(["run", "--release", "--package", "cofferdam-bench", "--", "--guests"]);
    shell::run(cargo.arg(guests::folder()).args(&arguments.arguments))
}
