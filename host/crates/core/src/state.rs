//! The states of a job and the one function that says how it leaves each of them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Where a job is. A job is in exactly one state, and the state is the table its small row lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Waits for its parents in a workflow.
    Blocked,
    /// Its time to run lies ahead.
    Scheduled,
    /// Claimable.
    Available,
    /// A lease exists.
    Running,
    /// A failed attempt waits out its backoff.
    Retryable,
    /// Waits for something outside, and holds no slot.
    Suspended,
    /// Ended well.
    Completed,
    /// Ended by an error that is never retried. In the dead-letter queue.
    Failed,
    /// Ended because attempts or crash budget are used up. In the dead-letter queue.
    Dead,
    /// Ended because someone or something cancelled it.
    Cancelled,
}

impl JobState {
    /// Every state, in the order in which a job may pass them.
    pub const ALL: [Self; 10] = [
        Self::Blocked,
        Self::Scheduled,
        Self::Available,
        Self::Running,
        Self::Retryable,
        Self::Suspended,
        Self::Completed,
        Self::Failed,
        Self::Dead,
        Self::Cancelled,
    ];

    /// Whether a job in this state stays in it unless an operator acts.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Dead | Self::Cancelled)
    }

    /// Whether a job in this state is kept in the dead-letter queue.
    pub const fn is_dead_letter(self) -> bool {
        matches!(self, Self::Failed | Self::Dead)
    }

    /// The state's name in the API, the CLI and the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Scheduled => "scheduled",
            Self::Available => "available",
            Self::Running => "running",
            Self::Retryable => "retryable",
            Self::Suspended => "suspended",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that names no state.
#[derive(Debug, Error)]
#[error("`{0}` is not a job state")]
pub struct UnknownState(pub String);

impl crate::hint::Hint for UnknownState {
    fn hint(&self) -> Option<String> {
        let names: Vec<_> = JobState::ALL.iter().map(|state| state.as_str()).collect();
        Some(format!("states are {}", names.join(", ")))
    }
}

impl FromStr for JobState {
    type Err = UnknownState;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| UnknownState(text.to_owned()))
    }
}

/// What can happen to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The last parent ended as the edge asks; the job is due now (`true`) or later.
    Unblocked {
        /// Whether its time to run has come.
        due: bool,
    },
    /// Its time has come.
    Promoted,
    /// A worker leased it.
    Claimed,
    /// The attempt ended well.
    Succeeded,
    /// The attempt failed and will be retried: at once (`true`) or after a backoff.
    AttemptFailed {
        /// Whether there is no backoff to wait out.
        at_once: bool,
    },
    /// The handler asked to run later.
    Snoozed,
    /// The worker gave the job back without an attempt.
    Released,
    /// The attempt waits for a callback or sleeps.
    Suspended,
    /// The callback came or the sleep is over.
    Resumed,
    /// A permanent error.
    FailedForGood,
    /// Attempts or crash budget are used up.
    Exhausted,
    /// A cancel took effect.
    Cancelled,
    /// An operator takes it out of the dead-letter queue.
    Revived,
}

/// An event that cannot happen to a job in this state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a job that is {from} cannot take {event:?}")]
pub struct IllegalTransition {
    /// The state that the job is in.
    pub from: JobState,
    /// The event that was tried.
    pub event: Event,
}

/// The transition function. The SQL of the store carries out what it says and nothing else.
pub const fn next(from: JobState, event: Event) -> Result<JobState, IllegalTransition> {
    use JobState as S;
    let to = match (from, event) {
        (S::Blocked, Event::Unblocked { due: true })
        | (S::Scheduled | S::Retryable, Event::Promoted)
        | (S::Running, Event::AttemptFailed { at_once: true } | Event::Released)
        | (S::Suspended, Event::Resumed)
        | (S::Failed | S::Dead | S::Cancelled, Event::Revived) => S::Available,
        (S::Blocked, Event::Unblocked { due: false }) | (S::Running, Event::Snoozed) => {
            S::Scheduled
        }
        (S::Available, Event::Claimed) => S::Running,
        (S::Running, Event::Succeeded) => S::Completed,
        (S::Running, Event::AttemptFailed { at_once: false }) => S::Retryable,
        (S::Running, Event::Suspended) => S::Suspended,
        (S::Running, Event::FailedForGood) => S::Failed,
        (S::Running | S::Suspended, Event::Exhausted) => S::Dead,
        (
            S::Blocked | S::Scheduled | S::Available | S::Running | S::Retryable | S::Suspended,
            Event::Cancelled,
        ) => S::Cancelled,
        _ => return Err(IllegalTransition { from, event }),
    };
    Ok(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EVENTS: [Event; 15] = [
        Event::Unblocked { due: true },
        Event::Unblocked { due: false },
        Event::Promoted,
        Event::Claimed,
        Event::Succeeded,
        Event::AttemptFailed { at_once: true },
        Event::AttemptFailed { at_once: false },
        Event::Snoozed,
        Event::Released,
        Event::Suspended,
        Event::Resumed,
        Event::FailedForGood,
        Event::Exhausted,
        Event::Cancelled,
        Event::Revived,
    ];

    #[test]
    fn only_an_operator_moves_a_terminal_job() {
        for state in JobState::ALL.into_iter().filter(|state| state.is_terminal()) {
            for event in EVENTS {
                let moved = next(state, event).is_ok();
                let may = event == Event::Revived && state != JobState::Completed;
                assert_eq!(moved, may, "{state} on {event:?}");
            }
        }
    }

    #[test]
    fn every_living_job_can_be_cancelled() {
        for state in JobState::ALL.into_iter().filter(|state| !state.is_terminal()) {
            assert_eq!(next(state, Event::Cancelled), Ok(JobState::Cancelled), "{state}");
        }
    }

    #[test]
    fn only_a_claim_starts_an_attempt() {
        for state in JobState::ALL {
            for event in EVENTS {
                if next(state, event) == Ok(JobState::Running) {
                    assert_eq!((state, event), (JobState::Available, Event::Claimed));
                }
            }
        }
    }

    #[test]
    fn names_come_back() {
        for state in JobState::ALL {
            assert_eq!(state.as_str().parse::<JobState>().unwrap(), state);
        }
    }

    proptest! {
        /// Whatever happens to a job, it is either at an end or can still reach one.
        #[test]
        fn no_walk_ends_in_a_trap(steps in proptest::collection::vec(0..EVENTS.len(), 0..60)) {
            let mut state = JobState::Available;
            for step in steps {
                if let Ok(to) = next(state, EVENTS[step]) {
                    state = to;
                }
            }
            prop_assert!(state.is_terminal() || next(state, Event::Cancelled).is_ok());
        }
    }
}
