//! Settings that cannot work, and why.

use crate::settings::{MAX_SLOTS, WorkerSettings};
use cofferdam_core::hint::Hint;
use cofferdam_core::units::format_duration;
use std::time::Duration;
use thiserror::Error;

/// How many heartbeats must be missed before a lease counts as abandoned: one that comes late never
/// condemns a worker.
const MISSED_BEATS: u32 = 3;

/// How many renewals fit into the leader's time, so that one that is lost does not cost it.
const RENEWALS: u32 = 2;

/// History leaves by whole days.
const MIN_RETENTION: Duration = Duration::from_hours(24);

/// Settings that cannot work.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// One setting is too short for another.
    #[error(
        "{name} is {}, less than {times} times the {other} of {}",
        format_duration(*value),
        format_duration(*of)
    )]
    TooShort {
        /// The setting.
        name: &'static str,
        /// What was asked for.
        value: Duration,
        /// How many times the other one it must be.
        times: u32,
        /// The other one.
        other: &'static str,
        /// What was asked for there.
        of: Duration,
    },
    /// Something is removed before a day has passed.
    #[error(
        "{name} is {}, less than the {} that are the least",
        format_duration(*value),
        format_duration(MIN_RETENTION)
    )]
    Retention {
        /// The setting.
        name: &'static str,
        /// What was asked for.
        value: Duration,
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
            Self::TooShort { name, times, of, .. } => {
                Some(format!("set {name} to {} or more", format_duration(*of * *times)))
            }
            Self::Retention { name, .. } => {
                Some(format!("set {name} to {} or more", format_duration(MIN_RETENTION)))
            }
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
            ("max_leaked", self.max_leaked == 0),
            ("heartbeat_interval", self.heartbeat_interval.is_zero()),
            ("poll_interval", self.poll_interval.is_zero()),
            ("promote_interval", self.promote_interval.is_zero()),
            ("rescue_interval", self.rescue_interval.is_zero()),
            ("leader_renew_interval", self.leader_renew_interval.is_zero()),
            ("stall_limit", self.stall_limit.is_zero()),
            ("prune_interval", self.prune_interval.is_zero()),
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
        at_least(
            ("heartbeat_staleness", self.heartbeat_staleness),
            MISSED_BEATS,
            ("heartbeat_interval", self.heartbeat_interval),
        )?;
        at_least(
            ("leader_ttl", self.leader_ttl),
            RENEWALS,
            ("leader_renew_interval", self.leader_renew_interval),
        )?;
        for (name, value) in [
            ("history_retention", self.history_retention),
            ("log_retention", self.log_retention),
            ("dlq_retention", self.dlq_retention),
        ] {
            if value < MIN_RETENTION {
                return Err(SettingsError::Retention { name, value });
            }
        }
        Ok(())
    }
}

fn at_least(
    (name, value): (&'static str, Duration),
    times: u32,
    (other, of): (&'static str, Duration),
) -> Result<(), SettingsError> {
    if value < of.saturating_mul(times) {
        return Err(SettingsError::TooShort { name, value, times, other, of });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(settings: &WorkerSettings) -> (String, String) {
        let error = settings.check().unwrap_err();
        (error.to_string(), error.hint().unwrap())
    }

    #[test]
    fn the_defaults_work() {
        assert_eq!(WorkerSettings::default().check(), Ok(()));
    }

    /// S14, D1.
    #[test]
    fn one_missed_beat_must_not_condemn_a_worker() {
        let settings = WorkerSettings {
            heartbeat_staleness: Duration::from_mins(1),
            ..WorkerSettings::default()
        };
        let (error, hint) = refused(&settings);
        assert_eq!(
            error,
            "heartbeat_staleness is 1m, less than 3 times the heartbeat_interval of 30s"
        );
        assert_eq!(hint, "set heartbeat_staleness to 1m30s or more");
    }

    #[test]
    fn one_lost_renewal_must_not_cost_the_lead() {
        let settings =
            WorkerSettings { leader_ttl: Duration::from_secs(6), ..WorkerSettings::default() };
        let (error, hint) = refused(&settings);
        assert_eq!(error, "leader_ttl is 6s, less than 2 times the leader_renew_interval of 5s");
        assert_eq!(hint, "set leader_ttl to 10s or more");
    }

    #[test]
    fn what_ended_today_is_not_removed_today() {
        let settings =
            WorkerSettings { dlq_retention: Duration::from_hours(1), ..WorkerSettings::default() };
        let (error, hint) = refused(&settings);
        assert_eq!(error, "dlq_retention is 1h, less than the 1d that are the least");
        assert_eq!(hint, "set dlq_retention to 1d or more");
    }

    /// S10: no interval may be zero, which would be a loop without a pause.
    #[test]
    fn nothing_beats_or_sweeps_without_a_pause() {
        let with = |change: fn(&mut WorkerSettings)| {
            let mut settings = WorkerSettings::default();
            change(&mut settings);
            settings.check()
        };
        assert_eq!(
            with(|settings| settings.heartbeat_interval = Duration::ZERO),
            Err(SettingsError::Zero("heartbeat_interval"))
        );
        assert_eq!(
            with(|settings| settings.rescue_interval = Duration::ZERO),
            Err(SettingsError::Zero("rescue_interval"))
        );
        assert_eq!(
            with(|settings| settings.leader_renew_interval = Duration::ZERO),
            Err(SettingsError::Zero("leader_renew_interval"))
        );
    }
}
