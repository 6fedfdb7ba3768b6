//! What a fresh sandbox costs for each attempt, against a bare wasmtime loop that does the same:
//! store, instantiate, call, drop.

use crate::bare::Bare;
use crate::guests::{attempt, sandbox};
use crate::stats::{Report, median};
use anyhow::{Result, ensure};
use cofferdam_core::outcome::End;
use cofferdam_sandbox::{Prepared, Sandbox};
use nix::time::{ClockId, clock_gettime};
use std::time::Duration;
use tokio::runtime::Runtime;

/// Attempts of one sample.
const ATTEMPTS: usize = 2_000;

/// How many attempts are under way at once, so that the guest thread need not wait for the next.
const TOGETHER: usize = 64;

/// What goes in and comes out again.
const PAYLOAD: usize = 1024;

pub(crate) fn measure(
    runtime: &Runtime,
    guest: &[u8],
    rounds: usize,
    report: &mut Report,
) -> Result<()> {
    let sandbox = sandbox(runtime, 1)?;
    let prepared = sandbox.compile(guest)?;
    let bare = Bare::new(guest).map_err(bare_error)?;
    let mut inside = Vec::with_capacity(rounds);
    let mut ours = Vec::with_capacity(rounds);
    let mut theirs = Vec::with_capacity(rounds);
    let mut ratios = Vec::with_capacity(rounds);
    let mut inside_ratios = Vec::with_capacity(rounds);
    for round in 0..=rounds {
        let mut turns = 0;
        let a = cpu_micros(|| {
            turns = runtime.block_on(ours_once(&sandbox, &prepared))?;
            Ok(())
        })?;
        let b = cpu_micros(|| runtime.block_on(bare.run(ATTEMPTS, PAYLOAD)).map_err(bare_error))?;
        // The first round fills pools and caches.
        if round > 0 {
            #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
            let turn = turns as f64 / ATTEMPTS as f64;
            inside.push(turn);
            inside_ratios.push(turn / b);
            ours.push(a);
            theirs.push(b);
            ratios.push(a / b);
        }
    }
    report.add("CPU an attempt, bare wasmtime loop", median(&theirs), "us", None);
    report.add("CPU an attempt, store + instantiate + call + drop", median(&inside), "us", None);
    report.add("  as a ratio, median of pairs", median(&inside_ratios), "x", Some(1.3));
    report.add("CPU an attempt, whole process, hand-over included", median(&ours), "us", None);
    report.add("  as a ratio, median of pairs", median(&ratios), "x", None);
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "the signature of a conversion")]
fn bare_error(error: wasmtime::Error) -> anyhow::Error {
    anyhow::anyhow!("the bare loop failed: {error:#}")
}

/// Runs the attempts; microseconds of CPU time of their turns together.
async fn ours_once(sandbox: &Sandbox, prepared: &Prepared) -> Result<u64> {
    let mut left = ATTEMPTS;
    let mut turns = 0;
    while left > 0 {
        let running: Vec<_> = (0..TOGETHER.min(left))
            .map(|_| {
                sandbox.run(prepared, attempt("echo", vec![7; PAYLOAD], Duration::from_secs(30)))
            })
            .collect();
        left -= running.len();
        for running in running {
            let outcome = running.outcome().await;
            ensure!(
                matches!(&outcome.end, End::Completed(output) if output.len() == PAYLOAD),
                "the echo ended otherwise: {:?}",
                outcome.end
            );
            turns += outcome.usage.cpu_micros;
        }
    }
    Ok(turns)
}

/// Microseconds of CPU time, of all threads of this process, for each attempt.
fn cpu_micros(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let before = Duration::from(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?);
    work()?;
    let after = Duration::from(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?);
    #[expect(clippy::cast_precision_loss, reason = "a small constant")]
    let attempts = ATTEMPTS as f64;
    Ok(after.saturating_sub(before).as_secs_f64() * 1e6 / attempts)
}
