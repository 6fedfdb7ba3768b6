//! Pages of jobs.

use super::detail::priority;
use crate::convert::{convert, count, length, parse};
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::Time;
use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::Counters;
use cofferdam_core::ids::{JobId, TenantId};
use cofferdam_core::job::Priority;
use cofferdam_core::module::VersionName;
use cofferdam_core::name::{KindName, ModuleName, QueueName};
use cofferdam_core::state::JobState;
use uuid::Uuid;

const LIST: &str = include_str!("../../queries/jobs/list.sql");
const LIST_IN_STATE: &str = include_str!("../../queries/jobs/list_in_state.sql");

/// Which jobs to list. What is left out keeps all.
#[derive(Clone, Debug, Default)]
pub struct JobFilter {
    /// In this state.
    pub state: Option<JobState>,
    /// Of this kind.
    pub kind: Option<KindName>,
    /// Of this queue.
    pub queue: Option<QueueName>,
    /// Of this module.
    pub module: Option<ModuleName>,
}

/// Which part of a list to read. Lists are newest first.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// The last one of the page before; `None` for the first page.
    pub before: Option<JobId>,
    /// How many at most.
    pub limit: usize,
}

/// A job as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSummary {
    /// Its id.
    pub id: JobId,
    /// Where it is.
    pub state: JobState,
    /// Its module.
    pub module: ModuleName,
    /// The version that it runs or ran last, or else the one that it asks for.
    pub version: Option<VersionName>,
    /// Its kind.
    pub kind: KindName,
    /// Its queue.
    pub queue: QueueName,
    /// Its priority.
    pub priority: Priority,
    /// How often it failed and was lost.
    pub counters: Counters,
    /// When it was submitted.
    pub created_at: Time,
    /// When it is or was due.
    pub run_at: Time,
    /// When its last attempt started; of a job that waits, the last that failed.
    pub started_at: Option<Time>,
    /// When it ended.
    pub finished_at: Option<Time>,
    /// Why its last failed attempt failed.
    pub class: Option<FailureClass>,
    /// The message of that attempt.
    pub message: Option<String>,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    module: String,
    version: Option<String>,
    kind: String,
    queue: String,
    priority: i16,
    created_at: Time,
    state: String,
    attempts: i32,
    crashes: i32,
    run_at: Time,
    started_at: Option<Time>,
    finished_at: Option<Time>,
    class: Option<String>,
    message: Option<String>,
}

impl TryFrom<Row> for JobSummary {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: JobId::from_uuid(row.id),
            state: parse("job's state", &row.state)?,
            module: convert("module's name", row.module)?,
            version: row.version.map(|name| convert("version's name", name)).transpose()?,
            kind: convert("job's kind", row.kind)?,
            queue: convert("queue's name", row.queue)?,
            priority: priority(row.priority)?,
            counters: Counters { attempts: count(row.attempts), crashes: count(row.crashes) },
            created_at: row.created_at,
            run_at: row.run_at,
            started_at: row.started_at,
            finished_at: row.finished_at,
            class: row.class.map(|class| parse("failure class", &class)).transpose()?,
            message: row.message,
        })
    }
}

impl Store {
    /// A page of a tenant's jobs, newest first.
    pub async fn list_jobs(
        &self,
        tenant: TenantId,
        filter: &JobFilter,
        page: Page,
    ) -> Result<Vec<JobSummary>, StoreError> {
        let sql = if filter.state.is_some() { LIST_IN_STATE } else { LIST };
        let mut query = sqlx::query_as(sql)
            .bind(tenant.as_uuid())
            .bind(page.before.map(JobId::as_uuid))
            .bind(filter.kind.as_ref().map(KindName::as_str))
            .bind(filter.queue.as_ref().map(QueueName::as_str))
            .bind(filter.module.as_ref().map(ModuleName::as_str))
            .bind(length(page.limit));
        if let Some(state) = filter.state {
            query = query.bind(state.as_str());
        }
        let rows: Vec<Row> = query.fetch_all(self.pool()).await?;
        rows.into_iter().map(JobSummary::try_from).collect()
    }
}
