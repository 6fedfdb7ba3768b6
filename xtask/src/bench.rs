//! `cargo xtask bench`: measures the figures that the documents state, in release mode.

use crate::{guests, setup, shell, workspace};
use anyhow::Result;
use std::process::Command;

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
    // Both at once, so that what they share is built once.
    let packages = ["build", "--release", "--package", "cofferdam", "--package", "cofferdam-bench"];
    shell::run(workspace::cargo().args(packages))?;
    let mut bench = Command::new(workspace::target_dir().join("release/cofferdam-bench"));
    shell::run(bench.arg("--guests").arg(guests::folder()).args(&arguments.arguments))
}
