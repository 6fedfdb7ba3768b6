//! Measures the figures that the documentation states.
//!
//! Started by `cargo xtask bench`, which builds it and the guests in release mode. Machines differ
//! and are shared: what compares is measured in turns within one run and given as a ratio.

mod bare;
mod beats;
mod cost;
mod guests;
mod kill;
mod latency;
mod leaks;
mod platform;
mod recovery;
mod stats;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use std::path::PathBuf;

/// Measures Cofferdam on this machine.
#[derive(Parser)]
struct Args {
    /// What to measure; everything but `crash` when left out.
    #[arg(value_enum)]
    what: Vec<What>,
    /// Where the example components lie.
    #[arg(long, default_value = "target/wasm32-wasip2/guest")]
    guests: PathBuf,
    /// The executable, for what is measured on real processes.
    #[arg(long, default_value = "target/release/cofferdam")]
    executable: PathBuf,
    /// Write the figures as JSON to this file, too.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Fail when a figure is over its bound.
    #[arg(long)]
    check: bool,
    /// A tenth of the samples: for a quick look, not for a document.
    #[arg(long)]
    quick: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// The cost of a fresh sandbox, against a bare wasmtime loop.
    Cost,
    /// From enqueue to the handler's first instruction.
    Latency,
    /// How late a runaway dies.
    Kill,
    /// What runaways do to claims and heartbeats.
    Beats,
    /// What a thousand killed attempts leave behind.
    Leaks,
    /// What heartbeats and rescues cost the database, by the number of leases.
    Leases,
    /// From the kill of a worker to the restart of its job, and of a leader to the next one. Takes
    /// a quarter of an hour, because the settings are the default ones.
    Crash,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let all = [What::Cost, What::Latency, What::Kill, What::Beats, What::Leaks, What::Leases];
    let what = if args.what.is_empty() { all.to_vec() } else { args.what };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let samples = |count: usize| if args.quick { (count / 10).max(1) } else { count };
    let guest = guests::read(&args.guests, "misbehave")?;
    let mut report = stats::Report::default();
    for what in what {
        match what {
            What::Cost => cost::measure(&runtime, &guest, samples(30), &mut report)?,
            What::Latency => latency::measure(&runtime, &guest, samples(500), &mut report)?,
            What::Kill => kill::measure(&runtime, &guest, samples(320), &mut report)?,
            What::Beats => beats::measure(&guest, samples(1000), &mut report)?,
            What::Leaks => leaks::measure(&runtime, &guest, samples(1000), &mut report)?,
            What::Leases => recovery::leases(&runtime, &guest, samples(50_000), &mut report)?,
            What::Crash => {
                let (fast, slow) = (samples(20), samples(5));
                recovery::crash(&runtime, &guest, &args.executable, fast, slow, &mut report)?;
            }
        }
    }
    report.print();
    if let Some(path) = args.json {
        std::fs::write(path, report.to_json()?)?;
    }
    anyhow::ensure!(!args.check || report.is_within_bounds(), "a figure is over its bound");
    Ok(())
}
