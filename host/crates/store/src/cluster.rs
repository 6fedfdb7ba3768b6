//! The installation as a whole.

use crate::convert::{duration, millis, unsigned};
use crate::error::StoreError;
use crate::leader::LeaderInfo;
use crate::store::Store;
use crate::sweeps::SweepStatus;
use cofferdam_core::Time;
use cofferdam_core::ids::WorkerId;
use std::time::Duration;
use uuid::Uuid;

const LEADER: &str = include_str!("../queries/cluster/leader.sql");
const GAUGES: &str = include_str!("../queries/cluster/gauges.sql");

/// How old a lease is before it can be an orphan. A worker reports what it holds every few seconds.
const UNREPORTED: Duration = Duration::from_secs(10);

/// Who leads, what runs, and whether somebody runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Who runs the sweeps.
    pub leader: Option<LeaderInfo>,
    /// How many leases there are.
    pub running: u64,
    /// How many attempts the live workers say that they hold.
    pub occupied: u64,
    /// How many leases no live worker accounts for: all those of workers that are missing, gone or
    /// evicted, and of each other worker those that it does not say that it holds. Leases that are
    /// younger than ten seconds are left out.
    pub orphaned: u64,
    /// The time since the oldest heartbeat; `None` when nothing runs.
    pub oldest_beat: Option<Duration>,
    /// Where the orphans are, by tenant and queue.
    pub orphans: Vec<OrphanCount>,
    /// What the sweeps did, by name.
    pub sweeps: Vec<SweepStatus>,
}

/// How many orphans there are in a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrphanCount {
    /// The name of the tenant.
    pub tenant: String,
    /// The name of its queue.
    pub queue: String,
    /// How many, 1 or more.
    pub count: u64,
}

#[derive(sqlx::FromRow)]
struct Row {
    running: i64,
    occupied: i64,
    orphaned: i64,
    oldest_beat_ms: Option<i64>,
    tenants: Vec<String>,
    queues: Vec<String>,
    counts: Vec<i64>,
}

impl Store {
    /// Looks at the whole.
    pub async fn cluster(&self) -> Result<Cluster, StoreError> {
        let row: Row =
            sqlx::query_as(GAUGES).bind(millis(UNREPORTED)).fetch_one(self.pool()).await?;
        let names = row.tenants.into_iter().zip(row.queues);
        let orphans = names.zip(row.counts).map(|((tenant, queue), count)| OrphanCount {
            tenant,
            queue,
            count: unsigned(count),
        });
        Ok(Cluster {
            leader: self.leader().await?,
            running: unsigned(row.running),
            occupied: unsigned(row.occupied),
            orphaned: unsigned(row.orphaned),
            oldest_beat: row.oldest_beat_ms.map(duration),
            orphans: orphans.collect(),
            sweeps: self.sweeps().await?,
        })
    }

    async fn leader(&self) -> Result<Option<LeaderInfo>, StoreError> {
        let leader: Option<(Uuid, i64, Time, Time)> =
            sqlx::query_as(LEADER).fetch_optional(self.pool()).await?;
        let info = |(worker, epoch, acquired_at, expires_at)| LeaderInfo {
            worker: WorkerId::from_uuid(worker),
            epoch,
            acquired_at,
            expires_at,
        };
        Ok(leader.map(info))
    }
}
