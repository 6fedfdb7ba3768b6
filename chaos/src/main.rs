//! `cofferdam-chaos`: breaks a platform and says what came of it. `cargo xtask chaos` builds what
//! it needs and starts it.

use anyhow::{Context, Result};
use clap::Parser;
use cofferdam_chaos::{Settings, run};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Breaks a platform, and checks that nothing was lost and nothing ran twice at once.
#[derive(Parser)]
struct Args {
    /// How long to inject faults, in minutes.
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// What the run is made from; chosen by chance when left out.
    #[arg(long)]
    seed: Option<u64>,
    /// The executable of the platform.
    #[arg(long)]
    executable: PathBuf,
    /// The component of the example `misbehave`.
    #[arg(long)]
    component: PathBuf,
    /// Write the report as JSON to this file, too.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Write what the processes logged to this file.
    #[arg(long)]
    log: Option<PathBuf>,
}

fn main() -> ExitCode {
    match chaos(Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn chaos(args: Args) -> Result<bool> {
    let seed = args.seed.unwrap_or_else(|| u64::from(rand::random::<u32>()));
    say(&format!("seed {seed}"));
    let duration = Duration::try_from_secs_f64(args.minutes * 60.0).context("--minutes")?;
    let component = std::fs::read(&args.component)
        .with_context(|| format!("cannot read {}", args.component.display()))?;
    let Args { executable, log, .. } = args;
    let settings = Settings { executable, component, seed, duration, loud: true, log };
    let report = run(&settings)?;
    print(&report.text());
    if let Some(path) = args.json {
        std::fs::write(path, serde_json::to_vec_pretty(&report)?)?;
    }
    Ok(report.is_clean())
}

#[expect(clippy::print_stdout, reason = "the report is what the run is for")]
fn print(text: &str) {
    print!("{text}");
}

#[expect(clippy::print_stderr, reason = "what happens meanwhile is no report")]
fn say(text: &str) {
    eprintln!("{text}");
}
