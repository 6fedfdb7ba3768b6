//! Workers.

use crate::convert::{convert, count, length, millis};
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::Time;
use cofferdam_core::history::bounded_text;
use cofferdam_core::ids::WorkerId;
use cofferdam_core::name::QueueName;
use sqlx::Arguments as _;
use sqlx::error::BoxDynError;
use sqlx::postgres::PgArguments;
use std::time::Duration;
use uuid::Uuid;

const REGISTER: &str = include_str!("../queries/workers/register.sql");
const LIST: &str = include_str!("../queries/workers/list.sql");
const DRAIN: &str = include_str!("../queries/workers/drain.sql");
const EVICT: &str = include_str!("../queries/workers/evict.sql");
const FORGET: &str = include_str!("../queries/workers/forget.sql");
const REMOVE: &str = "DELETE FROM workers WHERE id = $1";

/// The longest host name and version that are kept, in bytes.
const MAX_TEXT: usize = 256;
/// How many workers are forgotten at once. A few come and go in a minute.
const MAX_FORGOTTEN: usize = 1000;

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
    /// How many slots are held by attempts that cannot be ended.
    pub leaked: usize,
}

impl WorkerRow {
    /// The values of the statements that write it, in their order.
    pub(crate) fn arguments(&self) -> Result<PgArguments, sqlx::Error> {
        let mut arguments = PgArguments::default();
        self.add_to(&mut arguments).map_err(sqlx::Error::Encode)?;
        Ok(arguments)
    }

    fn add_to(&self, arguments: &mut PgArguments) -> Result<(), BoxDynError> {
        let number = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
        let queues: Vec<String> = self.queues.iter().map(ToString::to_string).collect();
        arguments.add(self.id.as_uuid())?;
        arguments.add(bounded_text(&self.hostname, MAX_TEXT))?;
        arguments.add(i64::from(self.pid))?;
        arguments.add(bounded_text(&self.version, MAX_TEXT))?;
        arguments.add(queues)?;
        arguments.add(number(self.slots))?;
        arguments.add(number(self.occupied))?;
        arguments.add(self.draining)?;
        arguments.add(number(self.leaked))
    }
}

/// A worker that is registered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
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
    /// How many slots are held by attempts that cannot be ended, by its last word.
    pub leaked: u32,
    /// Since when its process is seen to be gone.
    pub gone_since: Option<Time>,
    /// Whether an operator wants it to drain.
    pub drain_requested: bool,
    /// Whether an operator declared it dead.
    pub evicted: bool,
    /// Whether its session is there at this moment.
    pub session: bool,
}

#[derive(sqlx::FromRow)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
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
    leaked: i32,
    gone_since: Option<Time>,
    drain_requested: bool,
    evicted: bool,
    session: bool,
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
            leaked: count(row.leaked),
            gone_since: row.gone_since,
            drain_requested: row.drain_requested,
            evicted: row.evicted,
            session: row.session,
        })
    }
}

impl Store {
    /// Registers a worker, once, before its first claim. It renews its registration over its
    /// presence from then on.
    pub async fn register_worker(&self, worker: &WorkerRow) -> Result<(), StoreError> {
        sqlx::query_with(REGISTER, worker.arguments()?).execute(self.pool()).await?;
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

    /// Asks a worker to drain and leave, and tells it. `false`: there is no such worker, or it was
    /// evicted.
    pub async fn request_drain(&self, worker: WorkerId) -> Result<bool, StoreError> {
        self.tell_worker(DRAIN, worker).await
    }

    /// Declares a worker dead, and tells it: it claims nothing any more. Its leases are for the
    /// caller to rescue. `false`: there is no such worker.
    pub async fn evict_worker(&self, worker: WorkerId) -> Result<bool, StoreError> {
        self.tell_worker(EVICT, worker).await
    }

    async fn tell_worker(&self, sql: &'static str, worker: WorkerId) -> Result<bool, StoreError> {
        let told = sqlx::query(sql)
            .bind(worker.as_uuid())
            .bind(self.channel())
            .fetch_optional(self.pool())
            .await?;
        Ok(told.is_some())
    }

    /// Takes workers out of the register that have no leases and were seen to be gone for `grace`,
    /// or not seen at all for `unseen`, and answers how many. One that lives all the same finds
    /// its row missing and registers anew under another id.
    pub async fn forget_workers(
        &self,
        grace: Duration,
        unseen: Duration,
    ) -> Result<usize, StoreError> {
        let forgotten = sqlx::query(FORGET)
            .bind(millis(grace))
            .bind(millis(unseen))
            .bind(length(MAX_FORGOTTEN))
            .execute(self.pool())
            .await?;
        Ok(usize::try_from(forgotten.rows_affected()).unwrap_or(0))
    }
}
