//! Settings of how long what has ended is kept.

use super::{Fallback, Group, Variable, keyed};

/// How long history is kept.
pub(crate) static HISTORY_RETENTION: Variable = keyed(
    Group::Retention,
    "COFFERDAM_HISTORY_RETENTION",
    "history_retention",
    Fallback::Text("7d"),
    "How long jobs that completed or were cancelled are kept, with their attempts. At least a day; \
     removed by whole days.",
);

/// How long logs are kept.
pub(crate) static LOG_RETENTION: Variable = keyed(
    Group::Retention,
    "COFFERDAM_LOG_RETENTION",
    "log_retention",
    Fallback::Text("7d"),
    "How long captured logs are kept. At least a day; removed by whole days. Dead letters keep the \
     end of theirs.",
);

/// How long dead letters are kept.
pub(crate) static DLQ_RETENTION: Variable = keyed(
    Group::Retention,
    "COFFERDAM_DLQ_RETENTION",
    "dlq_retention",
    Fallback::Text("30d"),
    "How long dead letters are kept, with input, errors and the end of the log. At least a day.",
);

/// How often old rows are removed.
pub(crate) static PRUNE_INTERVAL: Variable = keyed(
    Group::Retention,
    "COFFERDAM_PRUNE_INTERVAL",
    "prune_interval",
    Fallback::Text("10m"),
    "How often what is older than that is looked for.",
);
