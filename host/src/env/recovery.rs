//! Settings of how lost jobs come back.

use super::{Fallback, Group, Variable, keyed};

/// The heartbeat.
pub(crate) static HEARTBEAT_INTERVAL: Variable = keyed(
    Group::Recovery,
    "COFFERDAM_HEARTBEAT_INTERVAL",
    "heartbeat_interval",
    Fallback::Text("30s"),
    "How often the worker renews the leases of what it runs.",
);

/// When a lease counts as abandoned.
pub(crate) static HEARTBEAT_STALENESS: Variable = keyed(
    Group::Recovery,
    "COFFERDAM_HEARTBEAT_STALENESS",
    "heartbeat_staleness",
    Fallback::Text("90s"),
    "How old the last heartbeat of a lease may be before its job is given to another worker. At \
     least three times the interval: two beats may be lost without harm. Set it alike on every worker.",
);

/// Rescue of lost jobs.
pub(crate) static RESCUE_INTERVAL: Variable = keyed(
    Group::Recovery,
    "COFFERDAM_RESCUE_INTERVAL",
    "rescue_interval",
    Fallback::Text("30s"),
    "How often the leader looks for leases of silent workers and for leases past their deadline.",
);

/// The fast path of a crash.
pub(crate) static CRASH_GRACE: Variable = keyed(
    Group::Recovery,
    "COFFERDAM_CRASH_GRACE",
    "crash_grace",
    Fallback::Text("5s"),
    "How long the database session of a worker must have been gone before its jobs are given to \
     other workers. `0s` turns this off: a dead worker is then found by its heartbeats alone. It \
     rests on a direct connection to Postgres; behind a pooler that shares sessions it finds nothing.",
);

/// The grace of leases without a worker.
pub(crate) static ORPHAN_GRACE: Variable = keyed(
    Group::Recovery,
    "COFFERDAM_ORPHAN_GRACE",
    "orphan_grace",
    Fallback::Text("30s"),
    "How old a lease must be before it is taken back because its worker is not registered.",
);

/// The grace of leases past their deadline.
pub(crate) static OVERDUE_GRACE: Variable = keyed(
    Group::Recovery,
    "COFFERDAM_OVERDUE_GRACE",
    "overdue_grace",
    Fallback::Text("30s"),
    "How long past its deadline a lease is left to its worker, which kills on time by itself: the \
     outcome may be waiting for the database, which is tried for 15s.",
);

/// How long leadership lasts.
pub(crate) static LEADER_TTL: Variable = keyed(
    Group::Recovery,
    "COFFERDAM_LEADER_TTL",
    "leader_ttl",
    Fallback::Text("15s"),
    "How long the leader, which runs the sweeps, may be silent before another worker takes over. At \
     least twice the interval of its renewals.",
);

/// How often leadership is renewed.
pub(crate) static LEADER_RENEW_INTERVAL: Variable = keyed(
    Group::Recovery,
    "COFFERDAM_LEADER_RENEW_INTERVAL",
    "leader_renew_interval",
    Fallback::Text("5s"),
    "How often the leader says that it is there.",
);

/// When a thread counts as stuck.
pub(crate) static STALL_LIMIT: Variable = keyed(
    Group::Recovery,
    "COFFERDAM_STALL_LIMIT",
    "stall_limit",
    Fallback::Text("10s"),
    "How long a guest's thread may be inside of one call, or the control runtime not come round, \
     before it counts as stuck for good: the thread is replaced and its leases are not renewed any \
     more; without a control runtime the process ends with 70.",
);

/// How many threads may be lost.
pub(crate) static MAX_LEAKED: Variable = keyed(
    Group::Recovery,
    "COFFERDAM_MAX_LEAKED",
    "max_leaked",
    Fallback::Text("4"),
    "How many stuck threads a worker may leave behind. With one more it drains and its process ends \
     with 70, to be started again by whatever supervises it.",
);
