//! The installation as a whole.

use cofferdam_core::Time;
use cofferdam_core::ids::WorkerId;
use cofferdam_store::{Cluster, LeaderInfo, OrphanCount, SweepStatus};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::ToSchema;

/// Who leads, what runs, and whether somebody runs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClusterView {
    /// The worker that runs the sweeps; left out while there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<LeaderView>,
    /// How many jobs are counted running.
    pub running: u64,
    /// How many jobs the live workers say that they run.
    pub occupied: u64,
    /// How many jobs are counted running that no live worker accounts for. Those that started less
    /// than ten seconds ago are left out.
    pub orphaned: u64,
    /// The same for people, when there are some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// For how long the job has gone without a heartbeat that has gone longest, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_heartbeat_ms: Option<u64>,
    /// Where the orphaned jobs are.
    pub orphans: Vec<OrphanView>,
    /// What each sweep did, by name.
    pub sweeps: Vec<SweepView>,
}

/// The worker that runs the sweeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaderView {
    /// Its id.
    #[schema(value_type = String, format = Uuid)]
    pub worker: WorkerId,
    /// Grows with each change of hands.
    pub epoch: i64,
    /// Since when it leads.
    #[schema(value_type = String, format = DateTime)]
    pub acquired_at: Time,
    /// Until when, unless it renews.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Time,
}

/// How many jobs of a queue are orphaned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OrphanView {
    /// Whose they are.
    pub tenant: String,
    /// Their queue.
    pub queue: String,
    /// The number.
    pub count: u64,
}

/// What a sweep did since the installation began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SweepView {
    /// Its name.
    pub name: String,
    /// The worker that ran it last.
    #[schema(value_type = String, format = Uuid)]
    pub worker: WorkerId,
    /// The epoch of its lead then.
    pub epoch: i64,
    /// When it ran last.
    #[schema(value_type = String, format = DateTime)]
    pub last_run_at: Time,
    /// How long that took, in microseconds.
    pub last_micros: u64,
    /// How many rows it moved then.
    pub last_rows: u64,
    /// Why the last run failed, when it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why a run failed last, however long ago.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_error_at: Option<Time>,
    /// How often it ran.
    pub runs: u64,
    /// How many rows it moved in all.
    pub rows: u64,
    /// How often it failed.
    pub failures: u64,
}

/// What is said of orphaned jobs, when there are some.
pub(crate) fn orphan_note(orphaned: u64) -> Option<String> {
    (orphaned > 0).then(|| format!("{orphaned} job(s) counted running with no live slot"))
}

impl From<Cluster> for ClusterView {
    fn from(cluster: Cluster) -> Self {
        let millis = |age: Duration| u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        Self {
            leader: cluster.leader.map(LeaderView::from),
            running: cluster.running,
            occupied: cluster.occupied,
            orphaned: cluster.orphaned,
            note: orphan_note(cluster.orphaned),
            oldest_heartbeat_ms: cluster.oldest_beat.map(millis),
            orphans: cluster.orphans.into_iter().map(OrphanView::from).collect(),
            sweeps: cluster.sweeps.into_iter().map(SweepView::from).collect(),
        }
    }
}

impl From<LeaderInfo> for LeaderView {
    fn from(leader: LeaderInfo) -> Self {
        let LeaderInfo { worker, epoch, acquired_at, expires_at } = leader;
        Self { worker, epoch, acquired_at, expires_at }
    }
}

impl From<OrphanCount> for OrphanView {
    fn from(orphans: OrphanCount) -> Self {
        let OrphanCount { tenant, queue, count } = orphans;
        Self { tenant, queue, count }
    }
}

impl From<SweepStatus> for SweepView {
    fn from(sweep: SweepStatus) -> Self {
        Self {
            name: sweep.name,
            worker: sweep.worker,
            epoch: sweep.epoch,
            last_run_at: sweep.last_run_at,
            last_micros: u64::try_from(sweep.last_took.as_micros()).unwrap_or(u64::MAX),
            last_rows: sweep.last_rows,
            error: sweep.error,
            last_error: sweep.last_error,
            last_error_at: sweep.last_error_at,
            runs: sweep.runs,
            rows: sweep.rows,
            failures: sweep.failures,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S70: the words that people search for.
    #[test]
    fn orphans_are_said_in_these_very_words() {
        assert_eq!(orphan_note(0), None);
        let note = orphan_note(3).unwrap();
        assert_eq!(note, "3 job(s) counted running with no live slot");
    }
}
