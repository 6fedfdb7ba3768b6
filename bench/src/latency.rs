//! From the call that submits a job to the first instruction of its handler, at low load.

use crate::platform::Platform;
use crate::stats::{Report, percentile};
use anyhow::{Context as _, Result, bail};
use cofferdam_core::ids::{JobId, TenantId};
use cofferdam_core::job::{JobOptions, NewJob, Priority};
use cofferdam_core::state::JobState;
use std::time::{Duration, Instant, SystemTime};
use tokio::runtime::Runtime;

/// The pause between jobs: the worker is idle when each arrives.
const PAUSE: Duration = Duration::from_millis(20);

/// How long one job may take before the measurement gives up.
const BOUND: Duration = Duration::from_secs(10);

pub(crate) fn measure(
    runtime: &Runtime,
    guest: &[u8],
    samples: usize,
    report: &mut Report,
) -> Result<()> {
    let platform = runtime.block_on(Platform::start(runtime, guest))?;
    let mut latencies = Vec::with_capacity(samples);
    for number in 0..samples + 20 {
        let latency = runtime.block_on(one(&platform))?;
        // The first ones fill pools and caches.
        if number >= 20 {
            latencies.push(latency);
        }
        std::thread::sleep(PAUSE);
    }
    runtime.block_on(platform.stop())?;
    let name = "enqueue to handler start";
    report.add(format!("{name}, p50"), percentile(&latencies, 0.5), "ms", Some(5.0));
    report.add(format!("{name}, p99"), percentile(&latencies, 0.99), "ms", Some(25.0));
    Ok(())
}

/// Submits a job that answers with the clock as it started; milliseconds from one to the other.
async fn one(platform: &Platform) -> Result<f64> {
    let job = NewJob {
        id: None,
        module: "bench/started-at".parse()?,
        queue: None,
        priority: Priority::default(),
        run_at: None,
        payload: b"null".to_vec(),
        options: JobOptions::default(),
    };
    let submitted = SystemTime::now();
    let accepted = platform.submitter.submit(TenantId::DEFAULT, vec![job]).await?;
    let id = accepted.first().context("no job was accepted")?.id;
    let output = output(platform, id).await?;
    let micros: u64 = serde_json::from_slice(&output)?;
    let started = SystemTime::UNIX_EPOCH + Duration::from_micros(micros);
    Ok(started.duration_since(submitted).unwrap_or_default().as_secs_f64() * 1e3)
}

async fn output(platform: &Platform, id: JobId) -> Result<Vec<u8>> {
    // The handler says itself when it started. Asking meanwhile would only be in its way.
    tokio::time::sleep(PAUSE).await;
    let started = Instant::now();
    while started.elapsed() < BOUND {
        let job = platform.store.job(TenantId::DEFAULT, id).await?.context("the job is gone")?;
        if job.state == JobState::Completed {
            let output = platform.store.job_output(TenantId::DEFAULT, id).await?;
            return output.context("the job has no output");
        }
        if job.state.is_terminal() {
            bail!("the job ended {}: {:?}", job.state, job.errors);
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    bail!("job {id} did not end in time")
}
