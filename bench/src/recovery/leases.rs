//! What heartbeats and rescues cost the database, by the number of leases.

use crate::platform::Base;
use crate::stats::{Report, median, percentile};
use anyhow::{Context as _, Result, ensure};
use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::{RetryPolicy, fail_attempt};
use cofferdam_core::ids::{LeaseKey, TenantId, WorkerId};
use cofferdam_core::job::{JobOptions, NewJob, Priority};
use cofferdam_core::outcome::RetryAdvice;
use cofferdam_store::{ClaimCursor, ClaimRequest, LostLease, RescueKind};
use std::process::Command;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use uuid::Uuid;

/// The most leases that one statement renews or rescues, as in a worker.
const CHUNK: usize = 500;

/// How many leases a worker with 500 slots has.
const FEW: usize = 500;

/// How many leases of a dead worker are rescued at once.
const DEAD: usize = 5000;

/// How often each heartbeat is measured.
const ROUNDS: usize = 5;

/// The interval that the cost a second is stated for.
const INTERVAL: f64 = 30.0;

pub(crate) fn measure(
    runtime: &Runtime,
    guest: &[u8],
    many: usize,
    report: &mut Report,
) -> Result<()> {
    runtime.block_on(async {
        let base = Base::start(runtime, guest).await?;
        let worker = WorkerId::from_uuid(Uuid::now_v7());
        let mut keys = Vec::new();
        for count in [FEW, many.max(FEW)] {
            claim(&base, worker, &mut keys, count).await?;
            beat(&base, worker, &keys, report).await?;
        }
        rescue(&base, DEAD.min(keys.len()), report).await?;
        base.stop().await
    })
}

/// Leases jobs until there are `count` leases.
async fn claim(
    base: &Base,
    worker: WorkerId,
    keys: &mut Vec<LeaseKey>,
    count: usize,
) -> Result<()> {
    let request = |max| ClaimRequest {
        worker,
        queues: Vec::new(),
        max,
        default_deadline: Duration::from_hours(1),
        deadline_cap: Duration::from_hours(1),
    };
    let mut cursor = ClaimCursor::default();
    while keys.len() < count {
        let missing = (count - keys.len()).min(CHUNK);
        let jobs = (0..missing).map(|_| job()).collect::<Result<Vec<_>>>()?;
        base.submitter.submit(TenantId::DEFAULT, jobs).await?;
        let claimed = base.store.claim(&request(missing), &mut cursor).await?;
        ensure!(!claimed.is_empty(), "nothing was claimed");
        keys.extend(claimed.into_iter().map(|job| job.key));
    }
    Ok(())
}

fn job() -> Result<NewJob> {
    Ok(NewJob {
        id: None,
        module: "bench/echo".parse()?,
        queue: None,
        priority: Priority::default(),
        run_at: None,
        payload: b"null".to_vec(),
        options: JobOptions::default(),
    })
}

async fn beat(base: &Base, worker: WorkerId, keys: &[LeaseKey], report: &mut Report) -> Result<()> {
    let mut line = base.store.heartbeats();
    let (mut rounds, mut statements) = (Vec::new(), Vec::new());
    let before = wal(base)?;
    for _ in 0..ROUNDS {
        let round = Instant::now();
        for chunk in keys.chunks(CHUNK) {
            let start = Instant::now();
            let beats = line.beat(worker, chunk, Duration::from_secs(30)).await?;
            ensure!(beats.iter().all(|beat| beat.renewed), "a lease was not renewed");
            statements.push(start.elapsed().as_secs_f64() * 1e3);
        }
        rounds.push(round.elapsed().as_secs_f64() * 1e3);
    }
    let leases = keys.len();
    let each = |bytes: f64| bytes / as_f64(leases * ROUNDS);
    let name = |what: &str| format!("heartbeat of {leases} leases: {what}");
    report.add(name("all statements, median"), median(&rounds), "ms", None);
    report.add(name("one statement, p99"), percentile(&statements, 0.99), "ms", None);
    report.add(name("rows a second at 30 s"), as_f64(leases) / INTERVAL, "rows/s", None);
    report.add(name("WAL a lease"), each(wal(base)? - before), "B", None);
    Ok(())
}

/// Rescues the leases of a worker that is dead, as the sweep does.
async fn rescue(base: &Base, count: usize, report: &mut Report) -> Result<()> {
    let decide = |lease: &LostLease| {
        let policy = RetryPolicy::default();
        fail_attempt(FailureClass::Lost, RetryAdvice::Default, lease.counters, &policy, 0.5)
    };
    let kind = RescueKind::Heartbeat { staleness: Duration::ZERO };
    let (mut ended, mut after) = (0, None);
    let start = Instant::now();
    while ended < count {
        let batch = base.store.rescue(kind, after, CHUNK, &decide).await?;
        ensure!(batch.ended == batch.seen, "a lease was not rescued");
        ended += batch.ended;
        after = batch.last;
    }
    let took = start.elapsed().as_secs_f64();
    report.add(format!("rescue of {ended} leases in one cycle"), took, "s", Some(30.0));
    Ok(())
}

/// How many bytes of write-ahead log the database has written so far.
fn wal(base: &Base) -> Result<f64> {
    let psql = base.cluster.binaries().dir().join("psql");
    let output = Command::new(&psql)
        .args(["--no-psqlrc", "--tuples-only", "--no-align", "--command"])
        .arg("SELECT pg_current_wal_insert_lsn() - '0/0'")
        .arg(base.cluster.url("bench"))
        .output()
        .with_context(|| format!("cannot run {}", psql.display()))?;
    ensure!(output.status.success(), "psql: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

#[expect(clippy::cast_precision_loss, reason = "counts of rows are small")]
fn as_f64(count: usize) -> f64 {
    count as f64
}
