//! Every variable that the executable reads, and the key of each in a configuration file.
//!
//! This table is the only place that names them: `config.rs` reads through it, `doctor` lists it,
//! and `docs/configuration.md` is generated from it.

/// What a setting is for; the sections of the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Commands that talk to a server.
    Client,
    /// The database, for every role that opens it.
    Database,
    /// The HTTP server.
    Server,
    /// Workers.
    Worker,
    /// How lost jobs come back.
    Recovery,
    /// How long what has ended is kept.
    Retention,
    /// The sandbox that workers and `run` start.
    Sandbox,
    /// `cofferdam dev`.
    Dev,
    /// Logs of the roles, and what the terminal shows.
    Output,
}

/// The value of a setting that nobody sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fallback {
    /// This text.
    Text(&'static str),
    /// Found out at start; the text says how.
    Computed(&'static str),
    /// There is none.
    Nothing,
}

/// One setting.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    /// The environment variable.
    pub(crate) name: &'static str,
    /// The key in the configuration file, where it may stand there.
    pub(crate) key: Option<&'static str>,
    /// The flag, with its dashes, where there is one.
    pub(crate) flag: Option<&'static str>,
    /// What it is for.
    pub(crate) group: Group,
    /// Its value when nobody sets it.
    pub(crate) default: Fallback,
    /// Whether the value must not be shown.
    pub(crate) secret: bool,
    /// What it does, in one or more sentences.
    pub(crate) what: &'static str,
}

/// A setting with an environment variable and nothing else.
const fn only(group: Group, name: &'static str, default: Fallback, what: &'static str) -> Variable {
    Variable { name, key: None, flag: None, group, default, secret: false, what }
}

/// A setting with a key in the configuration file.
const fn keyed(
    group: Group,
    name: &'static str,
    key: &'static str,
    default: Fallback,
    what: &'static str,
) -> Variable {
    Variable { name, key: Some(key), flag: None, group, default, secret: false, what }
}

impl Variable {
    const fn flag(self, flag: &'static str) -> Self {
        Self { flag: Some(flag), ..self }
    }

    const fn secret(self) -> Self {
        Self { secret: true, ..self }
    }
}

/// The configuration file.
pub(crate) static CONFIG: Variable = only(
    Group::Server,
    "COFFERDAM_CONFIG",
    Fallback::Nothing,
    "A TOML file with the keys of this page. There is no default path: `cofferdam.toml` is the \
     manifest of a module, and one found by chance must not configure a server.",
)
.flag("--config");

/// The server's URL.
pub(crate) static SERVER: Variable = keyed(
    Group::Client,
    "COFFERDAM_SERVER",
    "server",
    Fallback::Text("http://127.0.0.1:7070"),
    "The server to talk to: the URL up to, not including, `/api/v1`.",
)
.flag("--server");

/// The bearer token.
pub(crate) static TOKEN: Variable = keyed(
    Group::Client,
    "COFFERDAM_TOKEN",
    "token",
    Fallback::Nothing,
    "The bearer token: what a client sends and a server asks for. A server without one listens on \
     the loopback address only. There is no flag: arguments are visible to every process.",
)
.secret();

/// The timeout of one request.
pub(crate) static REQUEST_TIMEOUT: Variable = keyed(
    Group::Client,
    "COFFERDAM_REQUEST_TIMEOUT",
    "request_timeout",
    Fallback::Text("30s"),
    "How long a client waits for the answer to one request. Pushing a module may take ten times \
     as long, because the server compiles it.",
);

/// Where the server listens.
pub(crate) static LISTEN: Variable = keyed(
    Group::Server,
    "COFFERDAM_LISTEN",
    "listen",
    Fallback::Text("127.0.0.1:7070"),
    "The address that the HTTP server listens on. Port 0 lets the system choose one.",
)
.flag("--listen");

/// The database.
pub(crate) static DATABASE_URL: Variable = keyed(
    Group::Database,
    "COFFERDAM_DATABASE_URL",
    "database_url",
    Fallback::Nothing,
    "The Postgres database, such as `postgres://user@host/cofferdam`. Where neither this variable \
     nor the key is set, `DATABASE_URL` is read; not by `cofferdam dev`, which starts a private \
     Postgres then.",
)
.flag("--database-url")
.secret();

/// The variable that other tools use for the database.
pub(crate) static PLAIN_DATABASE_URL: Variable = only(
    Group::Database,
    "DATABASE_URL",
    Fallback::Nothing,
    "Read where `COFFERDAM_DATABASE_URL` is not set, except by `cofferdam dev`.",
)
.secret();

/// The schema of the tables.
pub(crate) static SCHEMA: Variable = keyed(
    Group::Database,
    "COFFERDAM_SCHEMA",
    "schema",
    Fallback::Text("cofferdam"),
    "The Postgres schema that holds the tables. Several installations can share a database.",
)
.flag("--schema");

/// The size of the connection pool.
pub(crate) static MAX_CONNECTIONS: Variable = keyed(
    Group::Database,
    "COFFERDAM_MAX_CONNECTIONS",
    "max_connections",
    Fallback::Text("16"),
    "The most connections that one process keeps open.",
);

/// The timeout of a statement.
pub(crate) static STATEMENT_TIMEOUT: Variable = keyed(
    Group::Database,
    "COFFERDAM_STATEMENT_TIMEOUT",
    "statement_timeout",
    Fallback::Text("30s"),
    "How long one SQL statement may run. Stops a lock held elsewhere from holding a worker for ever.",
);

/// The wait for a free connection.
pub(crate) static ACQUIRE_TIMEOUT: Variable = keyed(
    Group::Database,
    "COFFERDAM_ACQUIRE_TIMEOUT",
    "acquire_timeout",
    Fallback::Text("30s"),
    "How long to wait for a free connection of the pool.",
);

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

/// The cap of memory.
pub(crate) static MAX_MEMORY: Variable = keyed(
    Group::Sandbox,
    "COFFERDAM_MAX_MEMORY",
    "max_memory",
    Fallback::Text("1GiB"),
    "The most linear memory that an attempt can have, whatever it asks for. Address space for this \
     much is set aside for each slot.",
);

/// The cap of fuel.
pub(crate) static MAX_FUEL: Variable = keyed(
    Group::Sandbox,
    "COFFERDAM_MAX_FUEL",
    "max_fuel",
    Fallback::Text("10000000000000"),
    "The most fuel that an attempt can have, whatever it asks for.",
);

/// The threads of guests.
pub(crate) static GUEST_THREADS: Variable = keyed(
    Group::Sandbox,
    "COFFERDAM_GUEST_THREADS",
    "guest_threads",
    Fallback::Computed("1 for each CPU"),
    "How many operating-system threads run guests.",
);

/// The pooling allocator.
pub(crate) static POOLING: Variable = keyed(
    Group::Sandbox,
    "COFFERDAM_POOLING",
    "pooling",
    Fallback::Text("auto"),
    "Whether sandboxes come from a pool of memory reserved at start: `auto` falls back to \
     allocating each when the address space does not suffice, `required` refuses to start then, \
     `off` never reserves.",
);

/// The data folder of `dev`.
pub(crate) static DATA_DIR: Variable = keyed(
    Group::Dev,
    "COFFERDAM_DATA_DIR",
    "data_dir",
    Fallback::Text(".cofferdam"),
    "Where `cofferdam dev` keeps its private Postgres.",
)
.flag("--data-dir");

/// What is logged.
pub(crate) static LOG: Variable = keyed(
    Group::Output,
    "COFFERDAM_LOG",
    "log",
    Fallback::Computed("`info`, and `warn` for `cofferdam dev`"),
    "What the roles log to standard error: a level (`error`, `warn`, `info`, `debug`, `trace`) or \
     levels for single parts, such as `info,cofferdam_runner=debug`.",
);

/// The form of the log.
pub(crate) static LOG_FORMAT: Variable = keyed(
    Group::Output,
    "COFFERDAM_LOG_FORMAT",
    "log_format",
    Fallback::Text("text"),
    "`text` for people or `json`, one object a line, for collectors.",
);

/// Progress bars.
pub(crate) static NO_PROGRESS: Variable = only(
    Group::Output,
    "COFFERDAM_NO_PROGRESS",
    Fallback::Nothing,
    "Set to anything, it hides progress bars. They are hidden anyway with `--quiet` and `--json` \
     and where standard error is no terminal.",
);

/// Every variable, in the order of the documentation.
pub(crate) static ALL: [&Variable; 42] = [
    &CONFIG,
    &SERVER,
    &TOKEN,
    &REQUEST_TIMEOUT,
    &LISTEN,
    &DATABASE_URL,
    &PLAIN_DATABASE_URL,
    &SCHEMA,
    &MAX_CONNECTIONS,
    &STATEMENT_TIMEOUT,
    &ACQUIRE_TIMEOUT,
    &SLOTS,
    &QUEUES,
    &HEARTBEAT_INTERVAL,
    &HEARTBEAT_STALENESS,
    &POLL_INTERVAL,
    &PROMOTE_INTERVAL,
    &RESCUE_INTERVAL,
    &CRASH_GRACE,
    &ORPHAN_GRACE,
    &OVERDUE_GRACE,
    &LEADER_TTL,
    &LEADER_RENEW_INTERVAL,
    &STALL_LIMIT,
    &MAX_LEAKED,
    &HISTORY_RETENTION,
    &LOG_RETENTION,
    &DLQ_RETENTION,
    &PRUNE_INTERVAL,
    &LOG_FLUSH_INTERVAL,
    &MODULE_CACHE,
    &DRAIN_GRACE,
    &DEFAULT_DEADLINE,
    &MAX_DEADLINE,
    &MAX_MEMORY,
    &MAX_FUEL,
    &GUEST_THREADS,
    &POOLING,
    &DATA_DIR,
    &LOG,
    &LOG_FORMAT,
    &NO_PROGRESS,
];

/// The prefix of our own variables.
const PREFIX: &str = "COFFERDAM_";

/// The environment of this process, as far as it is ours.
pub(crate) fn read() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with(PREFIX) || name == PLAIN_DATABASE_URL.name)
        .collect()
}

/// Whether progress bars are switched off for this process.
pub(crate) fn no_progress() -> bool {
    std::env::var_os(NO_PROGRESS.name).is_some_and(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_and_keys_are_unique_and_alike() {
        let mut names = HashSet::new();
        let mut keys = HashSet::new();
        for variable in ALL {
            assert!(names.insert(variable.name), "{} twice", variable.name);
            if let Some(key) = variable.key {
                assert!(keys.insert(key), "{key} twice");
                assert_eq!(variable.name, format!("{PREFIX}{}", key.to_uppercase()));
            }
        }
    }
}
