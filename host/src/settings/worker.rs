//! How a worker works, and which settings of it are refused.

use super::caps;
use crate::config::Config;
use crate::env;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::value::Queues;
use cofferdam_core::bounds::RecoverySettings;
use cofferdam_core::units::format_duration;
use cofferdam_runner::{SettingsError, WorkerSettings};

/// The flags of a worker.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkerFlags {
    /// `--slots`.
    pub(crate) slots: Option<usize>,
    /// `--queues`.
    pub(crate) queues: Option<Queues>,
}

/// Settles how a worker works.
pub(crate) fn worker(config: &mut Config, flags: WorkerFlags) -> Result<WorkerSettings> {
    let caps = caps(config)?;
    let settings = WorkerSettings {
        slots: config.get(&env::SLOTS, flags.slots)?,
        queues: config.get_or(&env::QUEUES, flags.queues, Queues::default)?.0,
        heartbeat_interval: config.get(&env::HEARTBEAT_INTERVAL, None)?,
        heartbeat_staleness: config.get(&env::HEARTBEAT_STALENESS, None)?,
        poll_interval: config.get(&env::POLL_INTERVAL, None)?,
        promote_interval: config.get(&env::PROMOTE_INTERVAL, None)?,
        rescue_interval: config.get(&env::RESCUE_INTERVAL, None)?,
        overdue_grace: config.get(&env::OVERDUE_GRACE, None)?,
        crash_grace: config.get(&env::CRASH_GRACE, None)?,
        orphan_grace: config.get(&env::ORPHAN_GRACE, None)?,
        leader_ttl: config.get(&env::LEADER_TTL, None)?,
        leader_renew_interval: config.get(&env::LEADER_RENEW_INTERVAL, None)?,
        stall_limit: config.get(&env::STALL_LIMIT, None)?,
        max_leaked: config.get(&env::MAX_LEAKED, None)?,
        prune_interval: config.get(&env::PRUNE_INTERVAL, None)?,
        history_retention: config.get(&env::HISTORY_RETENTION, None)?,
        log_retention: config.get(&env::LOG_RETENTION, None)?,
        dlq_retention: config.get(&env::DLQ_RETENTION, None)?,
        log_flush_interval: config.get(&env::LOG_FLUSH_INTERVAL, None)?,
        drain_grace: config.get(&env::DRAIN_GRACE, None)?,
        default_deadline: config.get(&env::DEFAULT_DEADLINE, None)?,
        caps,
        module_cache: config.get(&env::MODULE_CACHE, None)?,
        hostname: crate::host::hostname(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        // Whoever runs one sets these: see `commands/shift.rs`.
        alone: None,
        give_up: None,
    };
    settings.check().map_err(|error| refused(&error))?;
    Ok(settings)
}

/// The runner's refusal in the words of whoever sets variables.
fn refused(error: &SettingsError) -> CommandError {
    let shown = format_duration;
    match error {
        SettingsError::TooShort { name: key, value, times, other, of } => {
            let least = shown(of.saturating_mul(*times));
            let (value, of) = (shown(*value), shown(*of));
            let (name, other) = (variable(key), variable(other));
            CommandError::usage(format!(
                "{name} is {value}, less than {times} times {other} ({of})"
            ))
            .cause(match *key {
                "heartbeat_staleness" => {
                    "a worker that is only late would lose its jobs while it still runs them"
                }
                _ => "a leader that is only late would lose the lead",
            })
            .hint(format!("set it to {least} or more, or shorten the interval"))
        }
        SettingsError::Retention { name, value } => {
            let value = shown(*value);
            CommandError::usage(format!("{} is {value}, less than a day", variable(name)))
                .cause("what ends today would be gone before anybody looks at it")
                .hint("set it to 1d or more")
        }
        SettingsError::Zero(name) => CommandError::usage(format!("{} is zero", variable(name)))
            .hint("leave it unset for the default"),
        SettingsError::Slots(_) => CommandError::hinted(Exit::Usage, error),
    }
}

/// The variable of a setting that the runner names.
fn variable(key: &str) -> &str {
    let found = env::ALL.iter().find(|variable| variable.key == Some(key));
    found.map_or(key, |variable| variable.name)
}

/// The settings that the bounds of recovery follow from.
pub(crate) fn recovery(worker: &WorkerSettings) -> RecoverySettings {
    RecoverySettings {
        heartbeat_interval: worker.heartbeat_interval,
        heartbeat_staleness: worker.heartbeat_staleness,
        rescue_interval: worker.rescue_interval,
        promote_interval: worker.promote_interval,
        crash_grace: worker.crash_grace,
        orphan_grace: worker.orphan_grace,
        overdue_grace: worker.overdue_grace,
        leader_ttl: worker.leader_ttl,
        leader_renew_interval: worker.leader_renew_interval,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::config;
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_registry_and_the_runner_agree_on_defaults() {
        let ours = worker(&mut config(&[]), WorkerFlags::default()).unwrap();
        let theirs =
            WorkerSettings { hostname: ours.hostname.clone(), ..WorkerSettings::default() };
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
    }

    #[test]
    fn two_lost_beats_must_be_bearable() {
        let environment =
            [("COFFERDAM_HEARTBEAT_INTERVAL", "5s"), ("COFFERDAM_HEARTBEAT_STALENESS", "10s")];
        let error = worker(&mut config(&environment), WorkerFlags::default()).unwrap_err();
        assert_eq!(
            error.message,
            "COFFERDAM_HEARTBEAT_STALENESS is 10s, less than 3 times COFFERDAM_HEARTBEAT_INTERVAL (5s)"
        );
        assert!(error.hints[0].contains("15s"), "{error:?}");
    }

    /// S10, S93: settings that cannot work together are refused with their numbers.
    #[test]
    fn every_refusal_has_the_variables_and_the_numbers() {
        for (environment, message, hint) in [
            (
                [("COFFERDAM_LEADER_TTL", "9s"), ("COFFERDAM_LEADER_RENEW_INTERVAL", "5s")],
                "COFFERDAM_LEADER_TTL is 9s, less than 2 times COFFERDAM_LEADER_RENEW_INTERVAL (5s)",
                "10s or more",
            ),
            (
                [("COFFERDAM_DLQ_RETENTION", "0s"), ("COFFERDAM_LOG_RETENTION", "1d")],
                "COFFERDAM_DLQ_RETENTION is 0s, less than a day",
                "1d or more",
            ),
            (
                [("COFFERDAM_LOG_RETENTION", "23h"), ("COFFERDAM_DLQ_RETENTION", "1d")],
                "COFFERDAM_LOG_RETENTION is 23h, less than a day",
                "1d or more",
            ),
            (
                [("COFFERDAM_RESCUE_INTERVAL", "0s"), ("COFFERDAM_CRASH_GRACE", "0s")],
                "COFFERDAM_RESCUE_INTERVAL is zero",
                "the default",
            ),
            (
                [("COFFERDAM_STALL_LIMIT", "0s"), ("COFFERDAM_ORPHAN_GRACE", "0s")],
                "COFFERDAM_STALL_LIMIT is zero",
                "the default",
            ),
        ] {
            let error = worker(&mut config(&environment), WorkerFlags::default()).unwrap_err();
            assert_eq!((error.exit, error.message.as_str()), (Exit::Usage, message));
            assert!(error.hints[0].contains(hint), "{error:?}");
        }
    }

    #[test]
    fn a_grace_of_zero_turns_the_fast_path_off() {
        let environment = &mut config(&[("COFFERDAM_CRASH_GRACE", "0s")]);
        let worker = worker(environment, WorkerFlags::default()).unwrap();
        assert_eq!(worker.crash_grace, Duration::ZERO);
    }
}
