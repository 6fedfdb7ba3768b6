//! The end of attempts, whoever brings it: their worker or a sweep.

use super::finish::{Finish, FinishEnd};
use super::heartbeat::key_arrays;
use crate::convert::{UsageArrays, integer, millis, parse};
use crate::error::StoreError;
use cofferdam_core::fail::{Exhausted, Verdict};
use cofferdam_core::history::bounded;
use cofferdam_core::ids::{JobId, LeaseKey, WorkerId};
use cofferdam_core::outcome::{Failure, Usage};
use cofferdam_core::state::JobState;
use sqlx::{Connection as _, PgConnection, Postgres, Transaction};
use std::collections::HashMap;
use uuid::Uuid;

const COMPLETE: &str = include_str!("../../queries/jobs/complete.sql");
const FAIL: &str = include_str!("../../queries/jobs/fail.sql");

/// How many errors a dead letter keeps, the latest: as many as a job may have attempts.
pub(super) const MAX_ERRORS: i64 = 100;
/// How many bytes of log a dead letter keeps, the latest.
const MAX_LOG_TAIL: i64 = 64 * 1024;

/// The history's word on an attempt that ended well after its job had been cancelled.
const TOO_LATE: (&str, &str) = ("cancelled", "cancelled while it ran; its output was dropped");

/// The leases that were still held, and where their jobs are now.
pub(super) type Settled = HashMap<LeaseKey, JobState>;

struct Failed<'a> {
    key: LeaseKey,
    failure: Failure,
    verdict: &'a Verdict,
    usage: &'a Usage,
}

/// Ends attempts with one statement for those that ended well and one for the others. `worker`:
/// only its own leases; `None` for the sweeps, which hold the leases locked.
pub(super) async fn settle(
    connection: &mut PgConnection,
    channel: &str,
    worker: Option<WorkerId>,
    batch: &[&Finish],
) -> Result<Settled, StoreError> {
    let mut settled = Settled::new();
    let mut completed = Vec::new();
    let mut failed = Vec::new();
    for finish in batch {
        match &finish.end {
            FinishEnd::Completed(output) => {
                completed.push((finish.key, output.as_slice(), &finish.usage));
            }
            FinishEnd::Failed { failure, verdict } => failed.push(Failed {
                key: finish.key,
                // Guests write these texts.
                failure: bounded(failure.clone()),
                verdict,
                usage: &finish.usage,
            }),
        }
    }
    // A sweep knows of no attempt that ended well.
    if let Some(worker) = worker
        && !completed.is_empty()
    {
        settled.extend(complete(connection, worker, &completed).await?);
    }
    if !failed.is_empty() {
        settled.extend(fail(connection, channel, worker, &failed).await?);
    }
    Ok(settled)
}

/// Ends attempts apart from each other as far as it takes to leave out those that the database
/// refuses: a batch that fails is halved, and each half tried behind a savepoint of its own.
pub(super) async fn settle_apart(
    transaction: &mut Transaction<'_, Postgres>,
    channel: &str,
    worker: Option<WorkerId>,
    batch: &[&Finish],
) -> Result<Settled, StoreError> {
    let mut settled = Settled::new();
    let mut parts = vec![batch];
    while let Some(part) = parts.pop() {
        let mut savepoint = transaction.begin().await?;
        match settle(&mut savepoint, channel, worker, part).await {
            Ok(some) => {
                savepoint.commit().await?;
                settled.extend(some);
            }
            Err(error) if error.is_transient() => return Err(error),
            Err(error) => {
                savepoint.rollback().await?;
                match part {
                    [] => {}
                    [one] => {
                        let cause = std::error::Error::source(&error).map(ToString::to_string);
                        tracing::error!(lease = %one.key, %error, cause, "the outcome is refused");
                    }
                    many => {
                        let (front, back) = many.split_at(many.len() / 2);
                        parts.extend([back, front]);
                    }
                }
            }
        }
    }
    Ok(settled)
}

fn collect(rows: Vec<(Uuid, i64, String)>) -> Result<Settled, StoreError> {
    rows.into_iter()
        .map(|(job, run_lease, state)| {
            let key = LeaseKey { job: JobId::from_uuid(job), run_lease };
            Ok((key, parse("job's state", &state)?))
        })
        .collect()
}

async fn complete(
    connection: &mut PgConnection,
    worker: WorkerId,
    completed: &[(LeaseKey, &[u8], &Usage)],
) -> Result<Settled, StoreError> {
    let (jobs, run_leases) = key_arrays(completed.iter().map(|(key, _, _)| key));
    let mut usage = UsageArrays::default();
    for (_, _, used) in completed {
        usage.push(used);
    }
    let (code, message) = TOO_LATE;
    let rows = sqlx::query_as(COMPLETE)
        .bind(worker.as_uuid())
        .bind(jobs)
        .bind(run_leases)
        .bind(completed.iter().map(|(_, output, _)| *output).collect::<Vec<_>>())
        .bind(usage.fuel)
        .bind(usage.cpu_micros)
        .bind(usage.wall_micros)
        .bind(usage.peak_memory_bytes)
        .bind(usage.log_bytes)
        .bind(usage.output_bytes)
        .bind(code)
        .bind(message)
        .fetch_all(connection)
        .await?;
    collect(rows)
}

async fn fail(
    connection: &mut PgConnection,
    channel: &str,
    worker: Option<WorkerId>,
    failed: &[Failed<'_>],
) -> Result<Settled, StoreError> {
    let (jobs, run_leases) = key_arrays(failed.iter().map(|end| &end.key));
    let mut usage = UsageArrays::default();
    for end in failed {
        usage.push(end.usage);
    }
    let reason = |end: &Failed<'_>| end.verdict.exhausted.map(Exhausted::as_str);
    let attempts = |end: &Failed<'_>| integer(end.verdict.counters.attempts);
    let crashes = |end: &Failed<'_>| integer(end.verdict.counters.crashes);
    let rows: Vec<(Uuid, i64, String, i64)> = sqlx::query_as(FAIL)
        .bind(worker.map(WorkerId::as_uuid))
        .bind(jobs)
        .bind(run_leases)
        .bind(failed.iter().map(|end| end.verdict.state.as_str()).collect::<Vec<_>>())
        .bind(failed.iter().map(|end| millis(end.verdict.delay)).collect::<Vec<_>>())
        .bind(failed.iter().map(attempts).collect::<Vec<_>>())
        .bind(failed.iter().map(crashes).collect::<Vec<_>>())
        .bind(failed.iter().map(reason).collect::<Vec<_>>())
        .bind(failed.iter().map(|end| end.failure.class.as_str()).collect::<Vec<_>>())
        .bind(failed.iter().map(|end| end.failure.code.as_str()).collect::<Vec<_>>())
        .bind(failed.iter().map(|end| end.failure.message.as_str()).collect::<Vec<_>>())
        .bind(failed.iter().map(|end| end.failure.backtrace.as_str()).collect::<Vec<_>>())
        .bind(usage.fuel)
        .bind(usage.cpu_micros)
        .bind(usage.wall_micros)
        .bind(usage.peak_memory_bytes)
        .bind(usage.log_bytes)
        .bind(usage.output_bytes)
        .bind(channel)
        .bind(MAX_ERRORS)
        .bind(MAX_LOG_TAIL)
        .fetch_all(connection)
        .await?;
    collect(rows.into_iter().map(|(job, run_lease, state, _)| (job, run_lease, state)).collect())
}
