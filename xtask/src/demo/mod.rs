//! `cargo xtask demo`: the whole platform, from an empty folder to a table of checked results.
//!
//! Everything goes through the executable, as a user would do it: `cofferdam dev` in a folder of
//! its own, `module push`, `job submit`, `job wait`, `dlq show`.

mod failures;
mod platform;
mod work;

use crate::{guests, setup, shell, workspace};
use anyhow::{Context, Result, bail};
use platform::Platform;
use std::time::{Duration, Instant};

/// How long the demo's own Postgres and server may take to start.
const START_BOUND: Duration = Duration::from_mins(2);

/// What the demo is to do.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Leave the platform running at the end, and say how to use and stop it.
    #[arg(long)]
    keep: bool,
}

/// Runs the demo. Fails when any result is not what it must be.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let start = Instant::now();
    setup::run()?;
    guests::build()?;
    shell::run(workspace::cargo().args(["build", "--package", "cofferdam"]))?;

    let platform = Platform::start(START_BOUND)?;
    for example in guests::PACKAGES {
        platform.push(example)?;
    }
    let mut rows = Vec::new();
    for batch in work::batches(platform.folder())? {
        rows.push(work::run(&platform, &batch)?);
    }
    rows.push(failures::runaway(&platform)?);
    rows.push(failures::poison(&platform)?);
    print_table(&rows);

    let jobs: usize = rows.iter().map(|row| row.jobs).sum();
    shell::say(&format!(
        "{jobs} jobs, all as they must be, {:.0} s in all",
        start.elapsed().as_secs_f64()
    ));
    if arguments.keep {
        platform.keep();
        return Ok(());
    }
    platform.stop()
}

/// A line of the table at the end.
pub(crate) struct Row {
    /// The module and kind.
    pub(crate) what: &'static str,
    /// How many jobs ran.
    pub(crate) jobs: usize,
    /// From the first submission to the last result.
    pub(crate) took: Duration,
    /// What was checked.
    pub(crate) checked: String,
}

#[expect(clippy::print_stdout, reason = "the table is what the demo is for")]
fn print_table(rows: &[Row]) {
    println!("{:<18} {:>5} {:>8}  checked", "job", "count", "seconds");
    for row in rows {
        let seconds = row.took.as_secs_f64();
        println!("{:<18} {:>5} {seconds:>8.1}  {}", row.what, row.jobs, row.checked);
    }
}

/// A JSON value at a dotted path, or an error that shows what is there instead.
fn field<'a>(value: &'a serde_json::Value, path: &str) -> Result<&'a serde_json::Value> {
    let pointer = format!("/{}", path.replace('.', "/"));
    value.pointer(&pointer).with_context(|| format!("no `{path}` in {value}"))
}

/// Fails unless two values are the same, and says what differs.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, is: &T, must: &T) -> Result<()> {
    if is == must {
        return Ok(());
    }
    bail!("{what} is {is:?}, but must be {must:?}")
}
