//! Every variable that the executable reads, and the key of each in a configuration file.
//!
//! One file a section of the documentation. These tables are the only place that names them:
//! `config.rs` reads through them, `doctor` lists them, and `docs/configuration.md` is generated
//! from them.

mod client;
mod database;
mod dev;
mod installation;
mod output;
mod recovery;
mod retention;
mod sandbox;
mod server;
mod worker;

pub(crate) use client::{REQUEST_TIMEOUT, SERVER, TOKEN};
pub(crate) use database::{
    ACQUIRE_TIMEOUT, DATABASE_URL, MAX_CONNECTIONS, PLAIN_DATABASE_URL, SCHEMA, STATEMENT_TIMEOUT,
};
pub(crate) use dev::DATA_DIR;
pub(crate) use installation::{KEY, KEY_FILE};
pub(crate) use output::{LOG, LOG_FORMAT, NO_PROGRESS};
pub(crate) use recovery::{
    CRASH_GRACE, HEARTBEAT_INTERVAL, HEARTBEAT_STALENESS, LEADER_RENEW_INTERVAL, LEADER_TTL,
    MAX_LEAKED, ORPHAN_GRACE, OVERDUE_GRACE, RESCUE_INTERVAL, STALL_LIMIT,
};
pub(crate) use retention::{DLQ_RETENTION, HISTORY_RETENTION, LOG_RETENTION, PRUNE_INTERVAL};
pub(crate) use sandbox::{GUEST_THREADS, MAX_FUEL, MAX_MEMORY, POOLING};
pub(crate) use server::{CONFIG, LISTEN};
pub(crate) use worker::{
    DEFAULT_DEADLINE, DRAIN_GRACE, LOG_FLUSH_INTERVAL, MAX_DEADLINE, MODULE_CACHE, POLL_INTERVAL,
    PROMOTE_INTERVAL, QUEUES, SLOTS,
};

/// What a setting is for; the sections of the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Commands that talk to a server.
    Client,
    /// The database, for every role that opens it.
    Database,
    /// The HTTP server.
    Server,
    /// What servers and workers have in common besides the database.
    Installation,
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

/// Every variable, in the order of the documentation.
pub(crate) static ALL: [&Variable; 44] = [
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
    &KEY,
    &KEY_FILE,
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
