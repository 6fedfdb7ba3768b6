//! `cargo xtask test`: every test, with one private `PostgreSQL` for all of them.

use crate::{guests, setup, shell, workspace};
use anyhow::{Context, Result};
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

/// Sets up, builds the guests once, and runs the tests. Fails when one of them does.
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
    cargo.env("COFFERDAM_TEST_POSTGRES", cluster.url("postgres"));
    cargo.env("COFFERDAM_TEST_COMPONENTS", workspace::target_dir());
    let tested = shell::run(&mut cargo);

    cluster.stop().context("cannot stop PostgreSQL after the tests")?;
    shell::say(&format!("{:.0} s in all", start.elapsed().as_secs_f64()));
    tested
}
