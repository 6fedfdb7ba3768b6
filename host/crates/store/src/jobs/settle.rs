//! The end of attempts, whoever brings it: their worker or a sweep.

use super::finish::{Finish, FinishEnd};
use super::heartbeat::key_arrays;
use crate::convert::{UsageArrays, integer, millis, parse};
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::fail::{Exhausted, Verdict};
use cofferdam_core::history::{bounded, bounded_text};
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
/// How many bytes of log a dead letter keeps, the latest, counted as JSON.
const MAX_LOG_TAIL: i64 = 64 * 1024;
/// How many lines of log a dead letter keeps. Each brings its place along, which the bytes do not
/// count.
const MAX_LOG_LINES: i64 = 1000;
/// The longest message of an attempt that is ended without detail, in bytes.
const MAX_BARE_MESSAGE: usize = 256;
/// How many statements of one call may be too much for the database, before the call is given up.
/// Finding one such outcome among a thousand takes ten; when everything is too much, each costs the
/// statement timeout.
const MAX_OVERLOADS: usize = 12;

/// The history's word on an attempt that ended well after its job had been cancelled.
const TOO_LATE: (&str, &str) = ("cancelled", "cancelled while it ran; its output was dropped");

/// How much is kept of an attempt that failed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All that explains it.
    Full,
    /// What happened, in a line, and nothing that was gathered on the way: for an end that the
    /// database refuses in full, so that no lease is held for ever by what a guest wrote.
    Bare,
}

impl Extent {
    /// How many errors, how many bytes of log and how many lines of it a dead letter keeps.
    fn kept(self) -> (i64, i64, i64) {
        match self {
            Self::Full => (MAX_ERRORS, MAX_LOG_TAIL, MAX_LOG_LINES),
            Self::Bare => (1, 0, 0),
        }
    }

    /// Guests write these texts.
    fn failure(self, failure: &Failure) -> Failure {
        let failure = bounded(failure.clone());
        match self {
            Self::Full => failure,
            Self::Bare => Failure {
                message: bounded_text(&failure.message, MAX_BARE_MESSAGE),
                backtrace: String::new(),
                ..failure
            },
        }
    }
}

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
    extent: Extent,
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
                failure: extent.failure(failure),
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
        settled.extend(fail(connection, channel, worker, &failed, extent).await?);
    }
    Ok(settled)
}

impl Store {
    /// Ends attempts apart from each other as far as it takes to leave out those that the database
    /// refuses: a batch that fails is halved, and each half tried behind a savepoint of its own. What
    /// is refused alone and in full is tried once more without detail.
    ///
    /// Fails when the database is away, or when it is too much for it throughout.
    pub(super) async fn settle_apart(
        &self,
        transaction: &mut Transaction<'_, Postgres>,
        worker: Option<WorkerId>,
        batch: &[&Finish],
    ) -> Result<Settled, StoreError> {
        let mut settled = Settled::new();
        let mut parts = vec![(batch, Extent::Full)];
        let mut overloads = 0;
        while let Some((part, extent)) = parts.pop() {
            let trying = settle_undoably(transaction, self.channel(), worker, part, extent);
            let error = match self.in_time(trying).await? {
                Ok(some) => {
                    settled.extend(some);
                    continue;
                }
                Err(error) => error,
            };
            overloads += usize::from(error.is_overload());
            if overloads > MAX_OVERLOADS {
                return Err(error);
            }
            match part {
                [] => {}
                [one] if extent == Extent::Full && matches!(one.end, FinishEnd::Failed { .. }) => {
                    log_refused(one, &error, "the outcome is refused in full");
                    parts.push((part, Extent::Bare));
                }
                // Nothing else is at stake: whoever asked may know when to try again.
                [_] if batch.len() == 1 && error.is_overload() => return Err(error),
                [one] => log_refused(one, &error, "the outcome is refused"),
                many => {
                    let (front, back) = many.split_at(many.len() / 2);
                    parts.extend([(back, extent), (front, extent)]);
                }
            }
        }
        Ok(settled)
    }
}

/// Ends attempts behind a savepoint. The inner error is of what was undone; after the outer one
/// the transaction is over.
async fn settle_undoably(
    transaction: &mut Transaction<'_, Postgres>,
    channel: &str,
    worker: Option<WorkerId>,
    part: &[&Finish],
    extent: Extent,
) -> Result<Result<Settled, StoreError>, StoreError> {
    let mut savepoint = transaction.begin().await?;
    match settle(&mut savepoint, channel, worker, part, extent).await {
        Ok(settled) => {
            savepoint.commit().await?;
            Ok(Ok(settled))
        }
        Err(error) if error.is_transient() => Err(error),
        // A server that closed the connection over these outcomes leaves nothing to undo. It is
        // they who are to blame, not the connection.
        Err(error) => match savepoint.rollback().await {
            Ok(()) => Ok(Err(error)),
            Err(_) => Err(error),
        },
    }
}

fn log_refused(one: &Finish, error: &StoreError, what: &'static str) {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    tracing::error!(lease = %one.key, %error, cause, "{what}");
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
    extent: Extent,
) -> Result<Settled, StoreError> {
    let (jobs, run_leases) = key_arrays(failed.iter().map(|end| &end.key));
    let (errors, log_bytes, log_lines) = extent.kept();
    let mut usage = UsageArrays::default();
    for end in failed {
        usage.push(end.usage);
    }
    let reason = |end: &Failed<'_>| end.verdict.exhausted.map(Exhausted::as_str);
    let attempts = |end: &Failed<'_>| integer(end.verdict.counters.attempts);
    let crashes = |end: &Failed<'_>| integer(end.verdict.counters.crashes);
    let callback =
        |end: &Failed<'_>| end.failure.callback.as_ref().map(|hash| hash.as_bytes().to_vec());
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
        .bind(errors)
        .bind(log_bytes)
        .bind(log_lines)
        .bind(failed.iter().map(callback).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    collect(rows.into_iter().map(|(job, run_lease, state, _)| (job, run_lease, state)).collect())
}
