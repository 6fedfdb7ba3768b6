//! What the database says about jobs, read past the platform.

use crate::clock::Nanos;
use anyhow::{Context, Result};
use sqlx::{FromRow, PgConnection};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Where a job is, and what is said of it there.
#[derive(Clone, Debug, FromRow)]
pub struct JobRow {
    /// The job.
    pub id: Uuid,
    /// In how many places it is.
    pub places: i64,
    /// The state that it is in, in one of them.
    pub state: Option<String>,
    /// Attempts that were counted.
    pub attempts: Option<i32>,
    /// Attempts that were lost.
    pub crashes: Option<i32>,
    /// The last fencing token that was given out.
    pub run_lease: Option<i64>,
    /// When its last attempt was claimed.
    pub started_at: Option<Nanos>,
    /// Which budget it used up.
    pub reason: Option<String>,
}

/// An attempt in the history.
#[derive(Clone, Debug, FromRow)]
pub struct AttemptRow {
    /// The job.
    pub job_id: Uuid,
    /// Which claim of it.
    pub run_lease: i64,
    /// Its number.
    pub attempt: i32,
    /// The worker.
    pub worker_id: Uuid,
    /// When it was claimed.
    pub started_at: Nanos,
    /// When it was over.
    pub ended_at: Nanos,
    /// Why it failed.
    pub class: Option<String>,
    /// The same, closer.
    pub code: Option<String>,
    /// The same, for people.
    pub message: Option<String>,
}

/// Every job that was submitted, with the number of places that it is in: every table but
/// `attempts` and `job_logs` that has a row for a job, `jobs` itself not counted.
const JOBS: &str = "
    WITH places AS (
        SELECT job_id FROM ready UNION ALL SELECT job_id FROM scheduled
        UNION ALL SELECT job_id FROM held UNION ALL SELECT job_id FROM suspended
        UNION ALL SELECT job_id FROM leases UNION ALL SELECT job_id FROM ended
        UNION ALL SELECT job_id FROM dlq
    ), counted AS (
        SELECT job_id, count(*) AS places FROM places GROUP BY job_id
    )
    SELECT jobs.id, COALESCE(counted.places, 0) AS places, state, attempts, crashes, run_lease,
           (extract(epoch FROM started_at) * 1000000)::bigint * 1000 AS started_at, reason
    FROM jobs
    LEFT JOIN counted ON counted.job_id = jobs.id
    LEFT JOIN LATERAL (
        SELECT * FROM job_state WHERE job_state.job_id = jobs.id LIMIT 1
    ) AS place ON true";

const ATTEMPTS: &str = "
    SELECT job_id, run_lease, attempt, worker_id, class, code, message,
           (extract(epoch FROM started_at) * 1000000)::bigint * 1000 AS started_at,
           (extract(epoch FROM ended_at) * 1000000)::bigint * 1000 AS ended_at
    FROM attempts ORDER BY job_id, run_lease, ended_at";

/// How many jobs are not at an end.
const UNFINISHED: &str = "
    SELECT count(*) FROM jobs
    WHERE NOT EXISTS (SELECT FROM ended WHERE ended.job_id = jobs.id)
      AND NOT EXISTS (SELECT FROM dlq WHERE dlq.job_id = jobs.id)";

const CHECKPOINTS: &str = "
    SELECT count(*) FROM checkpoints
    WHERE NOT EXISTS (SELECT FROM dlq WHERE dlq.job_id = checkpoints.job_id)";

/// The leader's process; NULL while nobody leads.
const LEADER: &str = "
    SELECT workers.pid FROM leader JOIN workers ON workers.id = leader.worker_id
    WHERE leader.expires_at > now()";

/// Every session of the platform, but not the one that asks. The application's name tells which.
const SESSIONS: &str = "
    SELECT pid, application_name FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND application_name LIKE 'cofferdam%'
    ORDER BY pid";

/// Everything at the end of a run.
pub struct Rows {
    /// Every job.
    pub jobs: BTreeMap<Uuid, JobRow>,
    /// The history of each.
    pub attempts: BTreeMap<Uuid, Vec<AttemptRow>>,
    /// How many leases are left.
    pub leases: i64,
    /// How many checkpoints are left of jobs that will never need one: dead letters keep theirs.
    pub checkpoints: i64,
}

impl Rows {
    /// Reads it.
    pub async fn read(session: &mut PgConnection) -> Result<Self> {
        let jobs: Vec<JobRow> = sqlx::query_as(JOBS).fetch_all(&mut *session).await?;
        let history: Vec<AttemptRow> = sqlx::query_as(ATTEMPTS).fetch_all(&mut *session).await?;
        let mut attempts: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for attempt in history {
            attempts.entry(attempt.job_id).or_default().push(attempt);
        }
        Ok(Self {
            jobs: jobs.into_iter().map(|job| (job.id, job)).collect(),
            attempts,
            leases: number(session, "SELECT count(*) FROM leases").await?,
            checkpoints: number(session, CHECKPOINTS).await?,
        })
    }
}

/// How many jobs are not at an end.
pub async fn unfinished(session: &mut PgConnection) -> Result<i64> {
    number(session, UNFINISHED).await
}

async fn number(session: &mut PgConnection, query: &'static str) -> Result<i64> {
    sqlx::query_scalar(query).fetch_one(session).await.context("cannot count rows")
}

/// The process of the leader, when somebody leads.
pub async fn leader(session: &mut PgConnection) -> Result<Option<i32>> {
    let pid: Option<i64> = sqlx::query_scalar(LEADER).fetch_optional(session).await?;
    Ok(pid.and_then(|pid| i32::try_from(pid).ok()))
}

/// The processes of the database that serve the platform, and for whom.
pub async fn sessions(session: &mut PgConnection) -> Result<Vec<(i32, String)>> {
    Ok(sqlx::query_as(SESSIONS).fetch_all(session).await?)
}

/// Ends sessions, as an administrator would. How many there were.
pub async fn terminate(session: &mut PgConnection, pids: &[i32]) -> Result<usize> {
    let query = "SELECT count(*) FROM unnest($1::int[]) AS pid WHERE pg_terminate_backend(pid)";
    let count: i64 = sqlx::query_scalar(query).bind(pids).fetch_one(session).await?;
    Ok(usize::try_from(count).unwrap_or(0))
}
