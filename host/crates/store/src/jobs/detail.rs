//! Everything about one job.

use super::settle::MAX_ERRORS;
use crate::convert::{UsageRow, convert, count, from_json, parse, unsigned};
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::Time;
use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::Counters;
use cofferdam_core::history::ErrorEntry;
use cofferdam_core::ids::{JobId, RunLease, TenantId, VersionId, WorkerId};
use cofferdam_core::job::{JobOptions, Priority};
use cofferdam_core::module::{Digest, VersionName};
use cofferdam_core::name::{KindName, ModuleName, QueueName};
use cofferdam_core::outcome::Usage;
use cofferdam_core::settings::KindSettings;
use cofferdam_core::state::JobState;
use serde_json::Value;
use sqlx::types::Json;
use uuid::Uuid;

const DETAIL: &str = include_str!("../../queries/jobs/detail.sql");

/// Everything about one job but its input, output and log.
#[derive(Clone, Debug)]
pub struct JobDetail {
    /// Its id.
    pub id: JobId,
    /// Where it is.
    pub state: JobState,
    /// Its module.
    pub module: ModuleName,
    /// The version that it runs or ran last, or else the one that it asks for.
    pub version: Option<RanVersion>,
    /// Its kind.
    pub kind: KindName,
    /// The kind's options: of that version, or else of the current one.
    pub kind_settings: Option<KindSettings>,
    /// Its queue.
    pub queue: QueueName,
    /// Its priority.
    pub priority: Priority,
    /// When it was submitted.
    pub created_at: Time,
    /// When it is or was due.
    pub run_at: Time,
    /// What the submitter said.
    pub options: JobOptions,
    /// The size of its input.
    pub payload_bytes: u64,
    /// How often it failed and was lost. A success counts as neither.
    pub counters: Counters,
    /// How often it was claimed.
    pub run_lease: RunLease,
    /// The worker that runs it, or ran it last before it ended.
    pub worker: Option<WorkerId>,
    /// When the last attempt started; of a job that waits, the last that failed.
    pub started_at: Option<Time>,
    /// When it ended.
    pub finished_at: Option<Time>,
    /// When its worker was last heard of, while it runs.
    pub heartbeat_at: Option<Time>,
    /// When its attempt is over at the latest, while it runs.
    pub deadline_at: Option<Time>,
    /// Since when a cancel is asked for, while it runs.
    pub cancel_requested_at: Option<Time>,
    /// How far it is by its own word, while it runs.
    pub progress: Option<JobProgress>,
    /// Why it was cancelled: `user`, `parent_failed`, `parent_cancelled`, `tenant`, `expired`.
    pub cause: Option<String>,
    /// The job that caused the cancel.
    pub caused_by: Option<JobId>,
    /// Why its last failed attempt failed.
    pub class: Option<FailureClass>,
    /// The message of that attempt.
    pub message: Option<String>,
    /// Which budget a dead job used up, `attempts` or `crashed`; or `quarantined`, of a job that
    /// cannot be claimed because its version is.
    pub reason: Option<String>,
    /// The size of its output, when it completed.
    pub output_bytes: Option<u64>,
    /// What the last attempt used, when it ended.
    pub usage: Option<Usage>,
    /// Its failed attempts, oldest first; the latest hundred.
    pub errors: Vec<ErrorEntry>,
}

/// A version that a job runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanVersion {
    /// Its id.
    pub id: VersionId,
    /// Its name.
    pub name: VersionName,
    /// Its component.
    pub digest: Digest,
}

/// How far an attempt is, by its own word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobProgress {
    /// 0 to 100.
    pub percent: u8,
    /// A word for people.
    pub note: String,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    module: String,
    kind: String,
    queue: String,
    priority: i16,
    created_at: Time,
    options: Json<Value>,
    payload_bytes: i64,
    state: String,
    attempts: i32,
    crashes: i32,
    run_lease: i64,
    run_at: Time,
    started_at: Option<Time>,
    finished_at: Option<Time>,
    worker_id: Option<Uuid>,
    version_id: Option<Uuid>,
    version_name: Option<String>,
    digest: Option<Vec<u8>>,
    kind_settings: Option<Json<Value>>,
    heartbeat_at: Option<Time>,
    deadline_at: Option<Time>,
    cancel_requested_at: Option<Time>,
    progress_percent: Option<i16>,
    progress_note: Option<String>,
    cause: Option<String>,
    caused_by: Option<Uuid>,
    output_len: Option<i64>,
    class: Option<String>,
    message: Option<String>,
    reason: Option<String>,
    #[sqlx(flatten)]
    usage: UsageRow,
    errors: Json<Value>,
}

/// Puts a version together, where there is one.
pub(super) fn ran_version(
    id: Option<Uuid>,
    name: Option<String>,
    digest: Option<&[u8]>,
) -> Result<Option<RanVersion>, StoreError> {
    let (Some(id), Some(name), Some(digest)) = (id, name, digest) else { return Ok(None) };
    Ok(Some(RanVersion {
        id: VersionId::from_uuid(id),
        name: convert("version's name", name)?,
        digest: convert("version's digest", digest)?,
    }))
}

/// Reads a priority.
pub(super) fn priority(number: i16) -> Result<Priority, StoreError> {
    convert("job's priority", convert::<u8, _>("job's priority", number)?)
}

impl TryFrom<Row> for JobDetail {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let percent =
            row.progress_percent.map(|percent| convert("progress", percent)).transpose()?;
        Ok(Self {
            id: JobId::from_uuid(row.id),
            state: parse("job's state", &row.state)?,
            module: convert("module's name", row.module)?,
            version: ran_version(row.version_id, row.version_name, row.digest.as_deref())?,
            kind: convert("job's kind", row.kind)?,
            kind_settings: row
                .kind_settings
                .map(|settings| from_json("kind's options", settings))
                .transpose()?,
            queue: convert("queue's name", row.queue)?,
            priority: priority(row.priority)?,
            created_at: row.created_at,
            run_at: row.run_at,
            options: from_json("job's options", row.options)?,
            payload_bytes: unsigned(row.payload_bytes),
            counters: Counters { attempts: count(row.attempts), crashes: count(row.crashes) },
            run_lease: row.run_lease,
            worker: row.worker_id.map(WorkerId::from_uuid),
            started_at: row.started_at,
            finished_at: row.finished_at,
            heartbeat_at: row.heartbeat_at,
            deadline_at: row.deadline_at,
            cancel_requested_at: row.cancel_requested_at,
            progress: percent
                .zip(row.progress_note)
                .map(|(percent, note)| JobProgress { percent, note }),
            cause: row.cause,
            caused_by: row.caused_by.map(JobId::from_uuid),
            class: row.class.map(|class| parse("failure class", &class)).transpose()?,
            message: row.message,
            reason: row.reason,
            output_bytes: row.output_len.map(unsigned),
            usage: row.usage.usage(),
            errors: from_json("error history", row.errors)?,
        })
    }
}

impl Store {
    /// Everything about a job; `None` when this tenant has no such job.
    pub async fn job(&self, tenant: TenantId, job: JobId) -> Result<Option<JobDetail>, StoreError> {
        let row: Option<Row> = sqlx::query_as(DETAIL)
            .bind(job.as_uuid())
            .bind(tenant.as_uuid())
            .bind(MAX_ERRORS)
            .fetch_optional(self.pool())
            .await?;
        row.map(JobDetail::try_from).transpose()
    }
}
