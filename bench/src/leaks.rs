//! What killed attempts leave behind: memory, open files, temporary files.

use crate::guests::{attempt, sandbox};
use crate::stats::Report;
use anyhow::{Context as _, Result};
use cofferdam_sandbox::{Prepared, Sandbox};
use std::time::Duration;
use tokio::runtime::Runtime;

/// How many run at once.
const TOGETHER: usize = 32;

/// How long each may run.
const DEADLINE: Duration = Duration::from_millis(20);

pub(crate) fn measure(
    runtime: &Runtime,
    guest: &[u8],
    samples: usize,
    report: &mut Report,
) -> Result<()> {
    let threads = std::thread::available_parallelism()?.get();
    let sandbox = sandbox(runtime, threads)?;
    let prepared = sandbox.compile(guest)?;
    // Pools and caches fill in the first rounds; what counts is what comes after.
    runtime.block_on(kill(&sandbox, &prepared, 4 * TOGETHER));
    let (memory, files, temporary) = (resident_kib()?, open_files()?, temporary_files()?);
    runtime.block_on(kill(&sandbox, &prepared, samples));
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    {
        let grown = resident_kib()? as f64 - memory as f64;
        report.add(
            format!("memory after {samples} killed attempts, more"),
            grown,
            "KiB",
            Some(4096.0),
        );
        let left = temporary_files()? as f64 - temporary as f64;
        report.add(
            format!("temporary files after {samples} killed attempts, more"),
            left,
            "",
            Some(0.0),
        );
        let opened = open_files()? as f64 - files as f64;
        report.add(
            format!("open files after {samples} killed attempts, more"),
            opened,
            "",
            Some(0.0),
        );
    }
    Ok(())
}

async fn kill(sandbox: &Sandbox, prepared: &Prepared, attempts: usize) {
    for round in 0..attempts.div_ceil(TOGETHER) {
        let running: Vec<_> = (0..TOGETHER)
            .map(|number| {
                let kind = if (round + number) % 2 == 0 { "spin" } else { "sleep" };
                sandbox.run(prepared, attempt(kind, b"{}".to_vec(), DEADLINE))
            })
            .collect();
        for running in running {
            running.outcome().await;
        }
    }
}

fn resident_kib() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS line")?;
    Ok(line.split_whitespace().nth(1).context("no number of KiB")?.parse()?)
}

fn open_files() -> Result<usize> {
    Ok(std::fs::read_dir("/proc/self/fd")?.count())
}

fn temporary_files() -> Result<usize> {
    Ok(std::fs::read_dir(std::env::temp_dir())?.count())
}
