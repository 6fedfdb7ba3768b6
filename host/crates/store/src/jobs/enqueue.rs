//! New jobs.

use crate::convert::{millis_at_least_one, parse, to_json};
use crate::error::StoreError;
use crate::settings::SchemaName;
use crate::store::Store;
use cofferdam_core::Time;
use cofferdam_core::ids::{JobId, ModuleId, TenantId, VersionId};
use cofferdam_core::job::{JobOptions, Priority};
use cofferdam_core::name::{KindName, QueueName};
use cofferdam_core::state::JobState;
use sqlx::{AssertSqlSafe, PgConnection};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use uuid::Uuid;

/// A job to add, checked and resolved.
#[derive(Clone, Debug)]
pub struct EnqueueJob {
    /// Its id. A job that is there already is left as it is.
    pub id: JobId,
    /// Its owner.
    pub tenant: TenantId,
    /// What to run.
    pub module: ModuleId,
    /// The version to run; `None` for whatever is current when it is claimed.
    pub version: Option<VersionId>,
    /// The kind.
    pub kind: KindName,
    /// The queue, which is made when there is none of this name.
    pub queue: QueueName,
    /// The priority.
    pub priority: Priority,
    /// Not before this time; `None` and times that have passed mean now.
    pub run_at: Option<Time>,
    /// The input.
    pub payload: Vec<u8>,
    /// Everything else.
    pub options: JobOptions,
}

/// What became of a job that was to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enqueued {
    /// Its id.
    pub id: JobId,
    /// Whether it is new. If not, nothing was changed.
    pub created: bool,
    /// Where it is now.
    pub state: JobState,
}

/// The statements of an enqueue with the schema's name in them: they also run in other people's
/// transactions, whose `search_path` is theirs and stays untouched.
pub(crate) struct EnqueueSql {
    channel: String,
    enqueue: Arc<str>,
    ensure_queues: Arc<str>,
    states: Arc<str>,
}

impl EnqueueSql {
    pub(crate) fn new(schema: &SchemaName) -> Self {
        let qualified = |sql: &str| Arc::from(schema.qualify(sql));
        Self {
            channel: schema.to_string(),
            enqueue: qualified(include_str!("../../queries/jobs/enqueue.sql")),
            ensure_queues: qualified(include_str!("../../queries/jobs/ensure_queues.sql")),
            states: qualified(include_str!("../../queries/jobs/states.sql")),
        }
    }
}

impl Store {
    /// Adds jobs, all or none, and answers in their order. Workers are told once a queue.
    pub async fn enqueue(&self, jobs: &[EnqueueJob]) -> Result<Vec<Enqueued>, StoreError> {
        if let [job] = jobs
            && let Some(enqueued) = self.enqueue_one(job).await?
        {
            return Ok(vec![enqueued]);
        }
        let mut transaction = self.begin().await?;
        let enqueued = self.in_time(enqueue(&mut transaction, self.enqueue_sql(), jobs)).await?;
        self.commit(transaction).await?;
        Ok(enqueued)
    }

    /// Adds a single job of a known queue in one statement, which is a transaction by itself and
    /// spares two round trips. `None`: nothing was added, there is more to it.
    async fn enqueue_one(&self, job: &EnqueueJob) -> Result<Option<Enqueued>, StoreError> {
        let mut connection = self.pool().acquire().await?;
        let states = self.in_time(insert(&mut connection, self.enqueue_sql(), &[job])).await?;
        let added = |state: &JobState| Enqueued { id: job.id, created: true, state: *state };
        Ok(states.get(&job.id).map(added))
    }
}

/// Adds jobs in the caller's own transaction: they are there when it commits, and never were when
/// it does not. `schema` is that of the installation; the connection's `search_path` is neither
/// used nor changed.
///
/// `now()` is the start of the transaction: in a long one, jobs are enqueued into the past.
pub async fn enqueue_in(
    connection: &mut PgConnection,
    schema: &str,
    jobs: &[EnqueueJob],
) -> Result<Vec<Enqueued>, StoreError> {
    enqueue(connection, &EnqueueSql::new(&SchemaName::new(schema)?), jobs).await
}

async fn enqueue(
    connection: &mut PgConnection,
    sql: &EnqueueSql,
    jobs: &[EnqueueJob],
) -> Result<Vec<Enqueued>, StoreError> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let mut batch: Vec<&EnqueueJob> = jobs.iter().collect();
    batch.sort_by_key(|job| job.id);
    batch.dedup_by_key(|job| job.id);

    let mut states = insert(connection, sql, &batch).await?;
    batch.retain(|job| !states.contains_key(&job.id));
    let mut before = known(connection, sql, &batch).await?;
    batch.retain(|job| !before.contains_key(&job.id));
    if !batch.is_empty() {
        // Neither added nor there: the queue is new.
        ensure_queues(connection, sql, &batch).await?;
        states.extend(insert(connection, sql, &batch).await?);
        batch.retain(|job| !states.contains_key(&job.id));
        // What is left was added by someone else a moment ago.
        before.extend(known(connection, sql, &batch).await?);
    }

    jobs.iter()
        .map(|job| {
            // Given twice, the job is new the first time.
            if let Some(state) = states.remove(&job.id) {
                before.insert(job.id, state);
                return Ok(Enqueued { id: job.id, created: true, state });
            }
            let state = *before.get(&job.id).ok_or(StoreError::Contended(job.id))?;
            Ok(Enqueued { id: job.id, created: false, state })
        })
        .collect()
}

async fn insert(
    connection: &mut PgConnection,
    sql: &EnqueueSql,
    jobs: &[&EnqueueJob],
) -> Result<HashMap<JobId, JobState>, StoreError> {
    let options = jobs
        .iter()
        .map(|job| to_json("job's options", &job.options))
        .collect::<Result<Vec<_>, _>>()?;
    let deadline = |job: &EnqueueJob| job.options.limits.deadline.map(millis_at_least_one);
    // What was due before 1970 is due now, and the database cannot hold every year that we can.
    let run_at = |job: &EnqueueJob| job.run_at.map(|time| time.max(Time::UNIX_EPOCH));
    let rows: Vec<(Uuid, bool, i64)> = sqlx::query_as(AssertSqlSafe(sql.enqueue.clone()))
        .bind(jobs.iter().map(|job| job.id.as_uuid()).collect::<Vec<_>>())
        .bind(jobs.iter().map(|job| job.tenant.as_uuid()).collect::<Vec<_>>())
        .bind(jobs.iter().map(|job| job.module.as_uuid()).collect::<Vec<_>>())
        .bind(jobs.iter().map(|job| job.version.map(VersionId::as_uuid)).collect::<Vec<_>>())
        .bind(jobs.iter().map(|job| job.kind.as_str()).collect::<Vec<_>>())
        .bind(jobs.iter().map(|job| job.queue.as_str()).collect::<Vec<_>>())
        .bind(jobs.iter().map(|job| i16::from(job.priority.get())).collect::<Vec<_>>())
        .bind(jobs.iter().map(|job| run_at(job)).collect::<Vec<_>>())
        .bind(jobs.iter().map(|job| deadline(job)).collect::<Vec<_>>())
        .bind(options)
        .bind(jobs.iter().map(|job| job.payload.as_slice()).collect::<Vec<_>>())
        .bind(&sql.channel)
        .fetch_all(connection)
        .await?;
    let state = |due| if due { JobState::Available } else { JobState::Scheduled };
    Ok(rows.into_iter().map(|(id, due, _)| (JobId::from_uuid(id), state(due))).collect())
}

/// The states of those jobs that exist.
async fn known(
    connection: &mut PgConnection,
    sql: &EnqueueSql,
    jobs: &[&EnqueueJob],
) -> Result<HashMap<JobId, JobState>, StoreError> {
    if jobs.is_empty() {
        return Ok(HashMap::new());
    }
    let tenants: HashMap<Uuid, Uuid> =
        jobs.iter().map(|job| (job.id.as_uuid(), job.tenant.as_uuid())).collect();
    let rows: Vec<(Uuid, Uuid, String)> = sqlx::query_as(AssertSqlSafe(sql.states.clone()))
        .bind(tenants.keys().copied().collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    rows.into_iter()
        .map(|(id, tenant, state)| {
            let job = JobId::from_uuid(id);
            if tenants.get(&id) == Some(&tenant) {
                Ok((job, parse("job's state", &state)?))
            } else {
                Err(StoreError::JobIdTaken(job))
            }
        })
        .collect()
}

async fn ensure_queues(
    connection: &mut PgConnection,
    sql: &EnqueueSql,
    jobs: &[&EnqueueJob],
) -> Result<(), StoreError> {
    let queues: BTreeSet<_> = jobs.iter().map(|job| (job.tenant.as_uuid(), &job.queue)).collect();
    sqlx::query(AssertSqlSafe(sql.ensure_queues.clone()))
        .bind(queues.iter().map(|(tenant, _)| *tenant).collect::<Vec<_>>())
        .bind(queues.iter().map(|(_, queue)| queue.as_str()).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    Ok(())
}
