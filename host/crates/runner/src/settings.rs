//! How a worker works.

use cofferdam_core::hint::Hint;
use cofferdam_core::limits::Limits;
use cofferdam_core::name::QueueName;
use cofferdam_core::units::format_duration;
use std::time::Duration;
use thiserror::Error;

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
            log_flush_interval: Duration::from_millis(500),
            drain_grace: Duration::from_secs(30),
            default_deadline: Limits::default().deadline,
            caps: Limits::caps(),
            module_cache: 64,
            hostname: String::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// Settings that cannot work.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// A beat that comes late once would cost the lease.
    #[error(
        "heartbeat_staleness is {}, less than three times the heartbeat_interval of {}",
        format_duration(*staleness),
        format_duration(*interval)
    )]
    Staleness {
        /// What was asked for.
        staleness: Duration,
        /// What was asked for.
        interval: Duration,
    },
    /// More slots than one process can serve.
    #[error("slots is {0}, more than the {MAX_SLOTS} that one worker may have")]
    Slots(usize),
    /// Something that must not be zero is.
    #[error("{0} is zero")]
    Zero(&'static str),
}

impl Hint for SettingsError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Staleness { interval, .. } => Some(format!(
                "set heartbeat_staleness to {} or more",
                format_duration(*interval * 3)
            )),
            Self::Slots(_) => Some("start several workers".to_owned()),
            Self::Zero(_) => None,
        }
    }
}

impl WorkerSettings {
    /// Checks that the settings fit together.
    pub fn check(&self) -> Result<(), SettingsError> {
        for (name, zero) in [
            ("slots", self.slots == 0),
            ("module_cache", self.module_cache == 0),
            ("heartbeat_interval", self.heartbeat_interval.is_zero()),
            ("poll_interval", self.poll_interval.is_zero()),
            ("promote_interval", self.promote_interval.is_zero()),
            ("rescue_interval", self.rescue_interval.is_zero()),
            ("log_flush_interval", self.log_flush_interval.is_zero()),
            ("default_deadline", self.default_deadline.is_zero()),
        ] {
            if zero {
                return Err(SettingsError::Zero(name));
            }
        }
        if self.slots > MAX_SLOTS {
            return Err(SettingsError::Slots(self.slots));
        }
        if self.heartbeat_staleness < self.heartbeat_interval * 3 {
            return Err(SettingsError::Staleness {
                staleness: self.heartbeat_staleness,
                interval: self.heartbeat_interval,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_work() {
        assert_eq!(WorkerSettings::default().check(), Ok(()));
    }

    #[test]
    fn one_missed_beat_must_not_condemn_a_worker() {
        let settings = WorkerSettings {
            heartbeat_staleness: Duration::from_mins(1),
            ..WorkerSettings::default()
        };
        let error = settings.check().unwrap_err();
        assert_eq!(
            error.to_string(),
            "heartbeat_staleness is 1m, less than three times the heartbeat_interval of 30s"
        );
        assert_eq!(error.hint().unwrap(), "set heartbeat_staleness to 1m30s or more");
    }
}
