//! `cargo xtask chaos`: breaks a running platform for minutes, and checks that nothing was lost.

use crate::{guests, setup, shell, workspace};
use anyhow::Result;
use std::path::PathBuf;
use std::process::Command;

/// How to break it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How long to inject faults, in minutes.
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// What the run is made from; chosen by chance, and printed, when left out.
    #[arg(long)]
    seed: Option<u64>,
    /// Write the report as JSON to this file, too.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// Builds the platform, the guests and the suite, and runs it. Fails when anything was not as it
/// must be.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    setup::run()?;
    guests::build()?;
    // As the tests build them: with a choice of packages come other features, and everything anew.
    shell::run(workspace::cargo().args(["build", "--workspace", "--bins"]))?;
    let built = workspace::target_dir().join("debug");
    let mut chaos = Command::new(built.join("cofferdam-chaos"));
    chaos.args(["--minutes", &arguments.minutes.to_string()]);
    chaos.arg("--executable").arg(built.join("cofferdam"));
    chaos.arg("--component").arg(guests::component("misbehave"));
    if let Some(seed) = arguments.seed {
        chaos.args(["--seed", &seed.to_string()]);
    }
    if let Some(json) = &arguments.json {
        chaos.arg("--json").arg(json);
    }
    shell::run(&mut chaos)
}
