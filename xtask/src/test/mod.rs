//! `cargo xtask test`: every test, with one private `PostgreSQL` for all of them, and whether what
//! ran shows what the checklist says.

pub(crate) mod announce;
mod cargo;
mod report;

pub(crate) use report::Report;

use crate::{checklist, guests, setup, shell, workspace};
use anyhow::{Context, Result, ensure};
use cofferdam_localpg::{Cluster, ClusterSettings};
use std::time::Instant;

/// What to test.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only tests whose name contains this.
    #[arg(long)]
    filter: Option<String>,
    /// Only tests of this package. Can be given more than once.
    #[arg(short, long)]
    package: Vec<String>,
}

impl Arguments {
    /// Whether every test is run, so that one that did not run is missing.
    const fn whole(&self) -> bool {
        self.filter.is_none() && self.package.is_empty()
    }
}

/// Sets up, builds the guests once, and runs the tests. Fails when one of them does, and when a
/// row of the checklist names one that did not run and pass.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let start = Instant::now();
    setup::run()?;
    guests::build()?;
    guests::build_core_module()?;

    let folder = std::env::temp_dir().join(format!("cofferdam-tests-{}", std::process::id()));
    // Data is not written to the disk before it is believed: nobody wants it after a crash. Each
    // test has a database of its own and some have several pools, so there are more connections.
    let settings = ClusterSettings::temporary(folder)
        .with("max_connections", "400")
        .with("shared_buffers", "256MB");
    let cluster = Cluster::open(&settings).map_err(|error| {
        let hint = error.hint().map(|hint| format!("\n\nhint: {hint}")).unwrap_or_default();
        anyhow::anyhow!("cannot start PostgreSQL for the tests: {error}{hint}")
    })?;
    shell::say(&format!("PostgreSQL {} for the tests", cluster.binaries().version()));

    let mut cargo = workspace::cargo();
    cargo.args(["test", "--no-fail-fast"]);
    if arguments.package.is_empty() {
        cargo.arg("--workspace");
    }
    for package in &arguments.package {
        cargo.args(["--package", package]);
    }
    cargo.args(&arguments.filter);
    shell::say(&shell::line(&cargo));
    cargo::announce(&mut cargo)?;
    cargo.env("COFFERDAM_TEST_POSTGRES", cluster.url("postgres"));
    cargo.env("COFFERDAM_TEST_COMPONENTS", workspace::target_dir());
    let tested = cargo::run(cargo);

    cluster.stop().context("cannot stop PostgreSQL after the tests")?;
    let (status, report) = tested?;
    for target in report.cut_short() {
        shell::say(&format!("{target} ended before it told its result"));
    }
    let unshown = unshown(arguments, &report)?;
    shell::say(&format!("cargo test: {status}, {:.0} s in all", start.elapsed().as_secs_f64()));
    // The last line that is printed, with or without `error: ` in front.
    ensure!(status.success() && unshown == 0, "{}", report.summary());
    shell::say(&report.summary());
    Ok(())
}

/// Says which rows of the checklist the run did not show, and how many they are.
fn unshown(arguments: &Arguments, report: &Report) -> Result<usize> {
    if !arguments.whole() {
        shell::say("NOT CHECKED: docs/checklist.toml, because only some of the tests were run");
        return Ok(0);
    }
    ensure!(report.has_names(), "no test said its name: does another `runner` replace ours?");
    let unshown = checklist::unshown(report)?;
    for line in &unshown {
        shell::say(line);
    }
    Ok(unshown.len())
}
