//! Workers.

use cofferdam_core::Time;
use cofferdam_core::ids::WorkerId;
use cofferdam_core::name::QueueName;
use cofferdam_store::WorkerInfo;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A worker process that has registered.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkerView {
    /// This start of it.
    #[schema(value_type = String, format = Uuid)]
    pub id: WorkerId,
    /// The machine that it runs on.
    pub hostname: String,
    /// Its process id there.
    pub pid: u32,
    /// The version of its executable.
    pub version: String,
    /// How many jobs it runs at once.
    pub slots: u32,
    /// How many it runs now, as it said last.
    pub occupied: u32,
    /// When it started.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Time,
    /// When it was heard of last.
    #[schema(value_type = String, format = DateTime)]
    pub seen_at: Time,
    /// The queues that it serves; empty for every one.
    #[schema(value_type = Vec<String>)]
    pub queues: Vec<QueueName>,
    /// Whether it takes no more jobs.
    pub draining: bool,
    /// How many of its slots are held by guests that cannot be ended, because their threads do not
    /// come out of a call.
    #[serde(default)]
    pub leaked: u32,
    /// Whether it was told to drain, which it may not have heard of yet.
    #[serde(default)]
    pub drain_requested: bool,
    /// Whether it was declared dead.
    #[serde(default)]
    pub evicted: bool,
    /// Whether its database session is there, by which its death would be noticed at once.
    #[serde(default)]
    pub session: bool,
    /// Since when its database session is seen to have ended with its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub gone_since: Option<Time>,
}

impl From<WorkerInfo> for WorkerView {
    fn from(worker: WorkerInfo) -> Self {
        Self {
            id: worker.id,
            hostname: worker.hostname,
            pid: worker.pid,
            version: worker.version,
            slots: worker.slots,
            occupied: worker.occupied,
            started_at: worker.started_at,
            seen_at: worker.seen_at,
            queues: worker.queues,
            draining: worker.draining,
            leaked: worker.leaked,
            drain_requested: worker.drain_requested,
            evicted: worker.evicted,
            session: worker.session,
            gone_since: worker.gone_since,
        }
    }
}

/// What an eviction did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EvictAnswer {
    /// The worker.
    #[schema(value_type = String, format = Uuid)]
    pub id: WorkerId,
    /// How many jobs were taken back from it.
    pub taken_back: u64,
}
