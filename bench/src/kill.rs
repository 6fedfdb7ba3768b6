//! How late a runaway dies, alone and among others, and what that does to the control runtime.

use crate::guests::{attempt, sandbox};
use crate::stats::{Report, percentile};
use anyhow::{Result, ensure};
use cofferdam_core::class::FailureClass;
use cofferdam_core::outcome::End;
use cofferdam_sandbox::{Prepared, Sandbox};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// How long each runaway may run.
const DEADLINE: Duration = Duration::from_millis(100);

/// How often the stand-in for heartbeats and claims wants to run.
const BEAT: Duration = Duration::from_millis(10);

pub(crate) fn measure(
    runtime: &Runtime,
    guest: &[u8],
    samples: usize,
    report: &mut Report,
) -> Result<()> {
    let threads = std::thread::available_parallelism()?.get();
    let sandbox = sandbox(runtime, threads)?;
    let prepared = sandbox.compile(guest)?;
    for (kind, what) in [("spin", "in guest code"), ("sleep", "in a host call")] {
        for together in [1, 32] {
            let rounds = (samples / together).max(3);
            let stop = CancellationToken::new();
            let beats = runtime.spawn(beat(stop.clone()));
            let mut late = Vec::new();
            for _ in 0..rounds {
                late.extend(runtime.block_on(round(&sandbox, &prepared, kind, together))?);
            }
            stop.cancel();
            let beats = runtime.block_on(beats)?;
            let name = format!("kill past the deadline, {together} runaways {what}");
            report.add(format!("{name}, p50"), percentile(&late, 0.5), "ms", None);
            report.add(format!("{name}, p99"), percentile(&late, 0.99), "ms", Some(20.0));
            report.add(format!("{name}, max"), percentile(&late, 1.0), "ms", None);
            let name = format!("10 ms timer of the control runtime beside {together}, late, max");
            report.add(name, percentile(&beats, 1.0), "ms", Some(50.0));
        }
    }
    Ok(())
}

/// Starts `together` runaways at once; how late each was dead and its slot free, in milliseconds.
async fn round(
    sandbox: &Sandbox,
    prepared: &Prepared,
    kind: &str,
    together: usize,
) -> Result<Vec<f64>> {
    let mut watchers = tokio::task::JoinSet::new();
    for _ in 0..together {
        let attempt = attempt(kind, b"{}".to_vec(), DEADLINE);
        let deadline = attempt.deadline;
        let running = sandbox.run(prepared, attempt);
        watchers.spawn(async move {
            let outcome = running.outcome().await;
            (Instant::now().saturating_duration_since(deadline), outcome)
        });
    }
    let mut late = Vec::new();
    while let Some(done) = watchers.join_next().await {
        let (lateness, outcome) = done?;
        let killed =
            matches!(&outcome.end, End::Failed(failure) if failure.class == FailureClass::Deadline);
        ensure!(killed, "a runaway ended otherwise: {:?}", outcome.end);
        late.push(lateness.as_secs_f64() * 1e3);
    }
    Ok(late)
}

/// Wakes every ten milliseconds; how late each time, in milliseconds.
async fn beat(stop: CancellationToken) -> Vec<f64> {
    let mut late = Vec::new();
    let mut due = Instant::now() + BEAT;
    while stop.run_until_cancelled(tokio::time::sleep_until(due.into())).await.is_some() {
        let now = Instant::now();
        late.push(now.duration_since(due).as_secs_f64() * 1e3);
        due = now + BEAT;
    }
    late
}
