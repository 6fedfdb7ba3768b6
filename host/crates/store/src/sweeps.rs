//! What the sweeps did.

use crate::convert::{bigint, duration, length, millis, unsigned};
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::Time;
use cofferdam_core::history::bounded_text;
use cofferdam_core::ids::WorkerId;
use cofferdam_core::recovery::{RECOVERY_BUCKETS, recovery_bucket};
use std::time::Duration;
use uuid::Uuid;

const REPORT: &str = include_str!("../queries/sweeps/report.sql");
const LIST: &str = include_str!("../queries/sweeps/list.sql");

/// The longest error that is kept, in bytes.
const MAX_ERROR: usize = 1024;

/// What a sweep did since the last report of it.
#[derive(Clone, Debug)]
pub struct SweepReport {
    /// Its name, 1 to 64 bytes.
    pub name: &'static str,
    /// How long ago it ran last.
    pub ago: Duration,
    /// How long that run took.
    pub took: Duration,
    /// How many rows that run moved.
    pub last_rows: u64,
    /// How often it ran since the last report.
    pub runs: u64,
    /// How many rows all these runs moved.
    pub rows: u64,
    /// How many of them failed.
    pub failures: u64,
    /// Why the last run failed, when it did.
    pub error: Option<String>,
    /// For each lease that it took back, the time since the last heartbeat.
    pub recovery: Vec<Duration>,
}

/// What a sweep did since the installation began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepStatus {
    /// Its name.
    pub name: String,
    /// The worker that ran it last, as the leader.
    pub worker: WorkerId,
    /// That leader's epoch.
    pub epoch: i64,
    /// When it ran last.
    pub last_run_at: Time,
    /// How long that run took.
    pub last_took: Duration,
    /// How many rows that run moved.
    pub last_rows: u64,
    /// Why that run failed, when it did.
    pub error: Option<String>,
    /// The last failure of any run.
    pub last_error: Option<String>,
    /// When that was.
    pub last_error_at: Option<Time>,
    /// How often it ran.
    pub runs: u64,
    /// How many rows it moved.
    pub rows: u64,
    /// How often it failed.
    pub failures: u64,
    /// For the leases that it took back, how many had not been beaten for how long: one count for
    /// each bound of [`RECOVERY_BUCKETS_MS`](cofferdam_core::recovery::RECOVERY_BUCKETS_MS), not
    /// added up, and a last one for what is longer.
    pub recovery: [u64; RECOVERY_BUCKETS],
    /// The sum of these times.
    pub recovery_sum: Duration,
}

#[derive(sqlx::FromRow)]
struct Row {
    name: String,
    worker_id: Uuid,
    epoch: i64,
    last_run_at: Time,
    last_micros: i64,
    last_rows: i64,
    error: Option<String>,
    last_error: Option<String>,
    last_error_at: Option<Time>,
    runs: i64,
    rows: i64,
    failures: i64,
    recovery: Vec<i64>,
    recovery_ms: i64,
}

impl From<Row> for SweepStatus {
    fn from(row: Row) -> Self {
        let mut recovery = [0; RECOVERY_BUCKETS];
        for (bucket, count) in recovery.iter_mut().zip(row.recovery) {
            *bucket = unsigned(count);
        }
        Self {
            name: row.name,
            worker: WorkerId::from_uuid(row.worker_id),
            epoch: row.epoch,
            last_run_at: row.last_run_at,
            last_took: Duration::from_micros(unsigned(row.last_micros)),
            last_rows: unsigned(row.last_rows),
            error: row.error,
            last_error: row.last_error,
            last_error_at: row.last_error_at,
            runs: unsigned(row.runs),
            rows: unsigned(row.rows),
            failures: unsigned(row.failures),
            recovery,
            recovery_sum: duration(row.recovery_ms),
        }
    }
}

impl Store {
    /// Adds up what sweeps did, as the leader of an epoch. Each sweep at most once.
    pub async fn report_sweeps(
        &self,
        worker: WorkerId,
        epoch: i64,
        reports: &[SweepReport],
    ) -> Result<(), StoreError> {
        let numbers = |number: fn(&SweepReport) -> u64| {
            reports.iter().map(|report| bigint(number(report))).collect::<Vec<_>>()
        };
        let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        let error = |report: &SweepReport| {
            report.error.as_deref().map(|error| bounded_text(error, MAX_ERROR))
        };
        let sum = |report: &SweepReport| millis(report.recovery.iter().sum());
        sqlx::query(REPORT)
            .bind(worker.as_uuid())
            .bind(epoch)
            .bind(reports.iter().map(|report| report.name).collect::<Vec<_>>())
            .bind(reports.iter().map(|report| millis(report.ago)).collect::<Vec<_>>())
            .bind(reports.iter().map(|report| micros(report.took)).collect::<Vec<_>>())
            .bind(numbers(|report| report.last_rows))
            .bind(numbers(|report| report.runs))
            .bind(numbers(|report| report.rows))
            .bind(numbers(|report| report.failures))
            .bind(reports.iter().map(error).collect::<Vec<_>>())
            .bind(reports.iter().flat_map(|report| buckets(&report.recovery)).collect::<Vec<_>>())
            .bind(reports.iter().map(sum).collect::<Vec<_>>())
            .bind(length(RECOVERY_BUCKETS))
            .execute(self.pool())
            .await?;
        Ok(())
    }

    pub(crate) async fn sweeps(&self) -> Result<Vec<SweepStatus>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(LIST).fetch_all(self.pool()).await?;
        Ok(rows.into_iter().map(SweepStatus::from).collect())
    }
}

fn buckets(times: &[Duration]) -> [i64; RECOVERY_BUCKETS] {
    let mut counts = [0; RECOVERY_BUCKETS];
    for time in times {
        if let Some(count) = counts.get_mut(recovery_bucket(*time)) {
            *count += 1;
        }
    }
    counts
}
