//! Settings of workers.

use super::{Fallback, Group, Variable, keyed};

/// The slots of a worker.
pub(crate) static SLOTS: Variable = keyed(
    Group::Worker,
    "COFFERDAM_SLOTS",
    "slots",
    Fallback::Text("32"),
    "How many attempts the worker runs at once.",
)
.flag("--slots");

/// The queues of a worker.
pub(crate) static QUEUES: Variable = keyed(
    Group::Worker,
    "COFFERDAM_QUEUES",
    "queues",
    Fallback::Computed("all queues"),
    "The queues to claim from, separated by commas; an array in the file.",
)
.flag("--queues");

/// Polling.
pub(crate) static POLL_INTERVAL: Variable = keyed(
    Group::Worker,
    "COFFERDAM_POLL_INTERVAL",
    "poll_interval",
    Fallback::Text("1s"),
    "How often an idle worker looks for jobs when no notification wakes it.",
);

/// Promotion of due jobs.
pub(crate) static PROMOTE_INTERVAL: Variable = keyed(
    Group::Worker,
    "COFFERDAM_PROMOTE_INTERVAL",
    "promote_interval",
    Fallback::Text("250ms"),
    "How often delayed and retried jobs that have become due are made claimable.",
);

/// Writing of logs.
pub(crate) static LOG_FLUSH_INTERVAL: Variable = keyed(
    Group::Worker,
    "COFFERDAM_LOG_FLUSH_INTERVAL",
    "log_flush_interval",
    Fallback::Text("500ms"),
    "How often the log lines and the progress of running attempts are written to the database.",
);

/// The cache of compiled modules.
pub(crate) static MODULE_CACHE: Variable = keyed(
    Group::Worker,
    "COFFERDAM_MODULE_CACHE",
    "module_cache",
    Fallback::Text("64"),
    "How many compiled modules a process keeps in memory.",
);

/// The grace of a drain.
pub(crate) static DRAIN_GRACE: Variable = keyed(
    Group::Worker,
    "COFFERDAM_DRAIN_GRACE",
    "drain_grace",
    Fallback::Text("30s"),
    "How long a worker that is told to stop waits for what it runs. What is left then goes back to \
     the queue and no attempt is counted.",
);

/// The deadline of jobs that say nothing.
pub(crate) static DEFAULT_DEADLINE: Variable = keyed(
    Group::Worker,
    "COFFERDAM_DEFAULT_DEADLINE",
    "default_deadline",
    Fallback::Text("5m"),
    "The deadline of an attempt where neither the job nor its kind sets one.",
);

/// The cap of deadlines.
pub(crate) static MAX_DEADLINE: Variable = keyed(
    Group::Worker,
    "COFFERDAM_MAX_DEADLINE",
    "max_deadline",
    Fallback::Text("1h"),
    "The longest deadline that a job can have, whatever it asks for.",
);
