//! The dead-letter queue: jobs that ended as `failed` or `dead`.

use super::detail::{RanVersion, priority, ran_version};
use super::list::Page;
use crate::convert::{UsageRow, convert, count, from_json, length, millis, parse, unsigned};
use crate::error::StoreError;
use crate::logs::LoggedLine;
use crate::store::Store;
use cofferdam_core::Time;
use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::Counters;
use cofferdam_core::history::ErrorEntry;
use cofferdam_core::ids::{JobId, RunLease, TenantId, WorkerId};
use cofferdam_core::job::{JobOptions, Priority};
use cofferdam_core::module::VersionName;
use cofferdam_core::name::{KindName, ModuleName, QueueName};
use cofferdam_core::outcome::Usage;
use cofferdam_core::settings::KindSettings;
use cofferdam_core::state::JobState;
use serde_json::Value;
use sqlx::types::Json;
use std::time::Duration;
use uuid::Uuid;

const LIST: &str = include_str!("../../queries/dlq/list.sql");
const SHOW: &str = include_str!("../../queries/dlq/show.sql");
const PURGE: &str = include_str!("../../queries/dlq/purge.sql");

/// Which dead letters are meant. What is left out keeps all.
#[derive(Clone, Debug, Default)]
pub struct DlqFilter {
    /// Of these jobs.
    pub ids: Vec<JobId>,
    /// Of this kind.
    pub kind: Option<KindName>,
    /// Ended at least this long ago.
    pub older_than: Option<Duration>,
}

/// A dead letter as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DlqSummary {
    /// The job.
    pub id: JobId,
    /// `failed` or `dead`.
    pub state: JobState,
    /// Its module.
    pub module: ModuleName,
    /// The version that it ran last.
    pub version: Option<VersionName>,
    /// Its kind.
    pub kind: KindName,
    /// Its queue.
    pub queue: QueueName,
    /// Which budget a dead job used up: `attempts` or `crashed`.
    pub reason: Option<String>,
    /// Why its last attempt failed.
    pub class: FailureClass,
    /// The same for programs.
    pub code: String,
    /// The same for people.
    pub message: String,
    /// How often it failed and was lost.
    pub counters: Counters,
    /// When it was submitted.
    pub created_at: Time,
    /// When it ended.
    pub finished_at: Time,
}

/// A dead letter with all that explains the failure. The input is the job's payload.
#[derive(Clone, Debug)]
pub struct DlqEntry {
    /// What lists show.
    pub summary: DlqSummary,
    /// The version that it ran last.
    pub version: Option<RanVersion>,
    /// What the submitter said.
    pub options: JobOptions,
    /// The options of its kind in that version.
    pub kind_settings: Option<KindSettings>,
    /// Its priority.
    pub priority: Priority,
    /// The size of its input.
    pub payload_bytes: u64,
    /// How often it was claimed.
    pub run_lease: RunLease,
    /// The worker of the last attempt.
    pub worker: WorkerId,
    /// When that attempt started.
    pub started_at: Time,
    /// What that attempt used.
    pub usage: Usage,
    /// Its failed attempts, oldest first; the latest hundred.
    pub errors: Vec<ErrorEntry>,
    /// The last 64 KiB of its log.
    pub log: Vec<LoggedLine>,
}

#[derive(sqlx::FromRow)]
struct SummaryRow {
    job_id: Uuid,
    module: String,
    version_name: Option<String>,
    kind: String,
    queue: String,
    state: String,
    reason: Option<String>,
    class: String,
    code: String,
    message: String,
    attempts: i32,
    crashes: i32,
    finished_at: Time,
    created_at: Time,
}

#[derive(sqlx::FromRow)]
struct Row {
    #[sqlx(flatten)]
    summary: SummaryRow,
    started_at: Time,
    worker_id: Uuid,
    version_id: Option<Uuid>,
    digest: Option<Vec<u8>>,
    kind_settings: Option<Json<Value>>,
    run_lease: i64,
    priority: i16,
    #[sqlx(flatten)]
    usage: UsageRow,
    errors: Json<Value>,
    log_tail: Json<Value>,
    options: Json<Value>,
    payload_bytes: i64,
}

impl TryFrom<SummaryRow> for DlqSummary {
    type Error = StoreError;

    fn try_from(row: SummaryRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: JobId::from_uuid(row.job_id),
            state: parse("job's state", &row.state)?,
            module: convert("module's name", row.module)?,
            version: row.version_name.map(|name| convert("version's name", name)).transpose()?,
            kind: convert("job's kind", row.kind)?,
            queue: convert("queue's name", row.queue)?,
            reason: row.reason,
            class: parse("failure class", &row.class)?,
            code: row.code,
            message: row.message,
            counters: Counters { attempts: count(row.attempts), crashes: count(row.crashes) },
            created_at: row.created_at,
            finished_at: row.finished_at,
        })
    }
}

impl TryFrom<Row> for DlqEntry {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let name = row.summary.version_name.clone();
        Ok(Self {
            version: ran_version(row.version_id, name, row.digest.as_deref())?,
            summary: DlqSummary::try_from(row.summary)?,
            options: from_json("job's options", row.options)?,
            kind_settings: row
                .kind_settings
                .map(|settings| from_json("kind's options", settings))
                .transpose()?,
            priority: priority(row.priority)?,
            payload_bytes: unsigned(row.payload_bytes),
            run_lease: row.run_lease,
            worker: WorkerId::from_uuid(row.worker_id),
            started_at: row.started_at,
            usage: row.usage.usage().unwrap_or_default(),
            errors: from_json("error history", row.errors)?,
            log: from_json("log", row.log_tail)?,
        })
    }
}

impl DlqFilter {
    fn ids(&self) -> Vec<Uuid> {
        self.ids.iter().map(|id| id.as_uuid()).collect()
    }
}

impl Store {
    /// A page of a tenant's dead letters, newest job first.
    pub async fn dlq_list(
        &self,
        tenant: TenantId,
        filter: &DlqFilter,
        page: Page,
    ) -> Result<Vec<DlqSummary>, StoreError> {
        let rows: Vec<SummaryRow> = sqlx::query_as(LIST)
            .bind(tenant.as_uuid())
            .bind(page.before.map(JobId::as_uuid))
            .bind(filter.ids())
            .bind(filter.kind.as_ref().map(KindName::as_str))
            .bind(filter.older_than.map(millis))
            .bind(length(page.limit))
            .fetch_all(self.pool())
            .await?;
        rows.into_iter().map(DlqSummary::try_from).collect()
    }

    /// A dead letter; `None` when this tenant has no such one.
    pub async fn dlq_show(
        &self,
        tenant: TenantId,
        job: JobId,
    ) -> Result<Option<DlqEntry>, StoreError> {
        let row: Option<Row> = sqlx::query_as(SHOW)
            .bind(job.as_uuid())
            .bind(tenant.as_uuid())
            .fetch_optional(self.pool())
            .await?;
        row.map(DlqEntry::try_from).transpose()
    }

    /// Deletes up to `limit` dead letters with their jobs, oldest first, and answers how many.
    pub async fn dlq_purge(
        &self,
        tenant: TenantId,
        filter: &DlqFilter,
        limit: usize,
    ) -> Result<u64, StoreError> {
        let purged: i64 = sqlx::query_scalar(PURGE)
            .bind(tenant.as_uuid())
            .bind(filter.ids())
            .bind(filter.kind.as_ref().map(KindName::as_str))
            .bind(filter.older_than.map(millis))
            .bind(length(limit))
            .fetch_one(self.pool())
            .await?;
        Ok(unsigned(purged))
    }
}
