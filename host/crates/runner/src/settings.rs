//! How a worker works.

use cofferdam_core::bounds::lease_bound;
use cofferdam_core::limits::Limits;
use cofferdam_core::name::QueueName;
use cofferdam_core::settings::Isolation;
use std::path::PathBuf;
use std::time::Duration;

/// The most attempts that one worker may run at once.
pub const MAX_SLOTS: usize = 4096;

/// The settings of one worker. `Default` is what the design documents state.
#[derive(Clone, Debug)]
pub struct WorkerSettings {
    /// How many attempts run at once, from 1 to [`MAX_SLOTS`].
    pub slots: usize,
    /// The queues that are served; empty means all.
    pub queues: Vec<QueueName>,
    /// How often leases are renewed.
    pub heartbeat_interval: Duration,
    /// The age of a heartbeat past which its lease is rescued. At least three intervals, so that
    /// one missed beat never condemns a worker.
    pub heartbeat_staleness: Duration,
    /// How often the worker looks for work without having been notified.
    pub poll_interval: Duration,
    /// How often due jobs are made claimable.
    pub promote_interval: Duration,
    /// How often stale and overdue leases are looked for.
    pub rescue_interval: Duration,
    /// How long past its deadline a lease is left to its worker, which kills on time by itself: the
    /// outcome may be waiting for the database through all the tries to write it.
    pub overdue_grace: Duration,
    /// How long a worker's session may be gone before its leases are rescued. Zero: a dead worker
    /// is only found by its heartbeats.
    pub crash_grace: Duration,
    /// How old a lease must be before it counts as orphaned when its worker is not registered.
    pub orphan_grace: Duration,
    /// How long the leader may be silent before another worker takes over. At least two renewals.
    pub leader_ttl: Duration,
    /// How often the leader says that it is there.
    pub leader_renew_interval: Duration,
    /// How long a guest's thread may be inside one turn, or the control runtime not come round,
    /// before it counts as stuck for good.
    pub stall_limit: Duration,
    /// How many guest threads may be lost to calls that never return, before the worker drains and
    /// its process ends.
    pub max_leaked: usize,
    /// How often old history is removed.
    pub prune_interval: Duration,
    /// How long jobs that completed or were cancelled are kept, with their attempts. At least a
    /// day, and removed by whole days.
    pub history_retention: Duration,
    /// How long captured logs are kept. At least a day, and removed by whole days.
    pub log_retention: Duration,
    /// How long dead letters are kept.
    pub dlq_retention: Duration,
    /// How often captured log lines and progress are written while an attempt runs.
    pub log_flush_interval: Duration,
    /// How long a drain waits for running attempts before it gives their jobs back.
    pub drain_grace: Duration,
    /// The deadline of jobs for which nobody named one.
    pub default_deadline: Duration,
    /// What no attempt may exceed, whatever it asks for.
    pub caps: Limits,
    /// How many compiled components are kept in memory, at least 1.
    pub module_cache: usize,
    /// The name of the machine, for people.
    pub hostname: String,
    /// The version of the executable, for people.
    pub version: String,
    /// Where attempts run at least, whatever their module says.
    pub isolation: Isolation,
    /// The executable whose command `attempt` runs attempts in processes of their own: those of
    /// jobs that lost a worker before, and those that ask for it. `None`: the former run like the
    /// others, and the latter not here.
    pub alone: Option<PathBuf>,
    /// Ends the process when the control runtime does not come round any more. Called on a thread
    /// of its own, because nothing else can be relied on then, with the reason. `None`: only logged.
    pub give_up: Option<fn(&str)>,
}

impl WorkerSettings {
    /// How long after the statement that last proved a lease its attempt may still run.
    pub(crate) fn lease_bound(&self) -> Duration {
        lease_bound(self.heartbeat_staleness, self.heartbeat_interval)
    }
}

impl Default for WorkerSettings {
    fn default() -> Self {
        Self {
            slots: 32,
            queues: Vec::new(),
            heartbeat_interval: Duration::from_secs(30),
            heartbeat_staleness: Duration::from_secs(90),
            poll_interval: Duration::from_secs(1),
            promote_interval: Duration::from_millis(250),
            rescue_interval: Duration::from_secs(30),
            overdue_grace: Duration::from_secs(30),
            crash_grace: Duration::from_secs(5),
            orphan_grace: Duration::from_secs(30),
            leader_ttl: Duration::from_secs(15),
            leader_renew_interval: Duration::from_secs(5),
            stall_limit: Duration::from_secs(10),
            max_leaked: 4,
            prune_interval: Duration::from_mins(10),
            history_retention: Duration::from_hours(7 * 24),
            log_retention: Duration::from_hours(7 * 24),
            dlq_retention: Duration::from_hours(30 * 24),
            log_flush_interval: Duration::from_millis(500),
            drain_grace: Duration::from_secs(30),
            default_deadline: Limits::default().deadline,
            caps: Limits::caps(),
            module_cache: 64,
            hostname: String::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            isolation: Isolation::default(),
            alone: None,
            give_up: None,
        }
    }
}
