//! Workers.

use crate::convert::{convert, count};
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::Time;
use cofferdam_core::history::bounded_text;
use cofferdam_core::ids::WorkerId;
use cofferdam_core::name::QueueName;
use uuid::Uuid;

const REGISTER: &str = include_str!("../queries/workers/register.sql");
const LIST: &str = include_str!("../queries/workers/list.sql");
const REMOVE: &str = "DELETE FROM workers WHERE id = $1";

/// The longest host name and version that are kept, in bytes.
const MAX_TEXT: usize = 256;

/// What a worker says of itself.
#[derive(Clone, Debug)]
pub struct WorkerRow {
    /// This start of it.
    pub id: WorkerId,
    /// The machine.
    pub hostname: String,
    /// The process on that machine.
    pub pid: u32,
    /// The version of the executable.
    pub version: String,
    /// How many jobs it runs at once.
    pub slots: usize,
    /// From which queues; all of them when empty.
    pub queues: Vec<QueueName>,
    /// How many jobs it runs now.
    pub occupied: usize,
    /// Whether it takes no more.
    pub draining: bool,
}

/// A worker that is registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerInfo {
    /// This start of it.
    pub id: WorkerId,
    /// The machine.
    pub hostname: String,
    /// The process on that machine.
    pub pid: u32,
    /// The version of the executable.
    pub version: String,
    /// How many jobs it runs at once.
    pub slots: u32,
    /// From which queues; all of them when empty.
    pub queues: Vec<QueueName>,
    /// How many jobs it ran when it was last heard of.
    pub occupied: u32,
    /// Whether it takes no more.
    pub draining: bool,
    /// When it registered.
    pub started_at: Time,
    /// When it was last heard of.
    pub seen_at: Time,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    hostname: String,
    pid: i64,
    version: String,
    queues: Vec<String>,
    slots: i32,
    occupied: i32,
    draining: bool,
    started_at: Time,
    seen_at: Time,
}

impl TryFrom<Row> for WorkerInfo {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let queues = row.queues.into_iter().map(|name| convert("queue's name", name));
        Ok(Self {
            id: WorkerId::from_uuid(row.id),
            hostname: row.hostname,
            pid: u32::try_from(row.pid).unwrap_or(0),
            version: row.version,
            slots: count(row.slots),
            queues: queues.collect::<Result<_, _>>()?,
            occupied: count(row.occupied),
            draining: row.draining,
            started_at: row.started_at,
            seen_at: row.seen_at,
        })
    }
}

impl Store {
    /// Registers a worker, or renews its registration.
    pub async fn register_worker(&self, worker: &WorkerRow) -> Result<(), StoreError> {
        let number = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
        sqlx::query(REGISTER)
            .bind(worker.id.as_uuid())
            .bind(bounded_text(&worker.hostname, MAX_TEXT))
            .bind(i64::from(worker.pid))
            .bind(bounded_text(&worker.version, MAX_TEXT))
            .bind(worker.queues.iter().map(QueueName::as_str).collect::<Vec<_>>())
            .bind(number(worker.slots))
            .bind(number(worker.occupied))
            .bind(worker.draining)
            .execute(self.pool())
            .await?;
        Ok(())
    }

    /// Every registered worker, the longest there first.
    pub async fn workers(&self) -> Result<Vec<WorkerInfo>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(LIST).fetch_all(self.pool()).await?;
        rows.into_iter().map(WorkerInfo::try_from).collect()
    }

    /// Takes a worker out of the register. Its leases stay for it or for rescue to end.
    pub async fn remove_worker(&self, worker: WorkerId) -> Result<(), StoreError> {
        sqlx::query(REMOVE).bind(worker.as_uuid()).execute(self.pool()).await?;
        Ok(())
    }
}
