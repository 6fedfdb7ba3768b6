//! Queues.

use crate::convert::{convert, duration, unsigned};
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::Time;
use cofferdam_core::ids::TenantId;
use cofferdam_core::name::QueueName;
use std::time::Duration;

const LIST: &str = include_str!("../queries/queues/list.sql");
const PAUSE: &str = include_str!("../queries/queues/pause.sql");
const RESUME: &str = include_str!("../queries/queues/resume.sql");

/// How far claimable jobs are counted. Exact counts of a long backlog cost more than the work.
pub const MAX_COUNT: u64 = 10_000;

/// A queue and its depth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueInfo {
    /// Its name.
    pub name: QueueName,
    /// Since when claims skip it.
    pub paused_at: Option<Time>,
    /// How many jobs are claimable, counted up to [`MAX_COUNT`].
    pub ready: u64,
    /// How many jobs are running.
    pub running: u64,
    /// For how long its oldest claimable job has been due.
    pub oldest_ready: Option<Duration>,
}

#[derive(sqlx::FromRow)]
struct Row {
    name: String,
    paused_at: Option<Time>,
    ready: i64,
    running: i64,
    oldest_ready_ms: Option<i64>,
}

impl Store {
    /// A tenant's queues by name.
    pub async fn queues(&self, tenant: TenantId) -> Result<Vec<QueueInfo>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(LIST)
            .bind(tenant.as_uuid())
            .bind(i64::try_from(MAX_COUNT).unwrap_or(i64::MAX))
            .fetch_all(self.pool())
            .await?;
        rows.into_iter()
            .map(|row| {
                Ok(QueueInfo {
                    name: convert("queue's name", row.name)?,
                    paused_at: row.paused_at,
                    ready: unsigned(row.ready),
                    running: unsigned(row.running),
                    oldest_ready: row.oldest_ready_ms.map(duration),
                })
            })
            .collect()
    }

    /// Lets claims skip a queue, which is made when there is none of this name. What runs goes on.
    pub async fn pause_queue(&self, tenant: TenantId, name: &QueueName) -> Result<(), StoreError> {
        sqlx::query(PAUSE).bind(tenant.as_uuid()).bind(name.as_str()).execute(self.pool()).await?;
        Ok(())
    }

    /// Ends a pause and tells the workers. `false`: there is no queue of this name.
    pub async fn resume_queue(
        &self,
        tenant: TenantId,
        name: &QueueName,
    ) -> Result<bool, StoreError> {
        let resumed = sqlx::query(RESUME)
            .bind(tenant.as_uuid())
            .bind(name.as_str())
            .bind(self.channel())
            .fetch_optional(self.pool())
            .await?;
        Ok(resumed.is_some())
    }
}
