//! Why an attempt ended without success, and what that means for its job.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The failure classes. One row each in the table of [`FailureClass::rule`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// The handler returned a retryable error.
    Error,
    /// The handler returned a permanent error.
    Permanent,
    /// The guest trapped: a panic, an access out of bounds, a division by zero.
    Trap,
    /// The attempt's time ran out, in guest code or in a host call.
    Deadline,
    /// The fuel budget is used up.
    Fuel,
    /// Linear memory would have grown past the limit.
    Memory,
    /// Tables would have grown past the limit.
    Table,
    /// The call stack is used up.
    Stack,
    /// The output is larger than the limit.
    Output,
    /// The log was flooded past what truncation can bear.
    LogFlood,
    /// The scratch folder is full.
    Disk,
    /// The lease was rescued: the worker went silent.
    Lost,
    /// The job cannot run at all: no such kind, not linkable, payload not of the schema.
    NotRunnable,
    /// The worker gave the job back before it did anything.
    Released,
    /// The handler asked to run later.
    Snoozed,
    /// Cancelled by an operator, a cascade or expiry.
    Cancelled,
}

/// What an attempt of a class is counted against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Against `max_attempts`.
    Attempt,
    /// Against `max_crashes`.
    Crash,
    /// Against nothing.
    Nothing,
}

/// What becomes of the job, budget permitting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Retry after the backoff.
    Retry,
    /// Retry without waiting.
    RetryAtOnce,
    /// End as `failed`, unless the job's policy lists the class as retryable.
    FailUnlessPolicy,
    /// End as `failed`.
    Fail,
    /// Back to `available` as if it had not been claimed.
    GiveBack,
    /// To `scheduled`.
    Later,
    /// End as `cancelled`.
    Cancel,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What becomes of the job.
    pub decision: Decision,
    /// What the attempt is counted against.
    pub counts: Counts,
}

impl FailureClass {
    /// Every class.
    pub const ALL: [Self; 16] = [
        Self::Error,
        Self::Permanent,
        Self::Trap,
        Self::Deadline,
        Self::Fuel,
        Self::Memory,
        Self::Table,
        Self::Stack,
        Self::Output,
        Self::LogFlood,
        Self::Disk,
        Self::Lost,
        Self::NotRunnable,
        Self::Released,
        Self::Snoozed,
        Self::Cancelled,
    ];

    /// The class's name in the API, the CLI and the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Permanent => "permanent",
            Self::Trap => "trap",
            Self::Deadline => "deadline",
            Self::Fuel => "fuel",
            Self::Memory => "memory",
            Self::Table => "table",
            Self::Stack => "stack",
            Self::Output => "output",
            Self::LogFlood => "log_flood",
            Self::Disk => "disk",
            Self::Lost => "lost",
            Self::NotRunnable => "not_runnable",
            Self::Released => "released",
            Self::Snoozed => "snoozed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The failure table: one row a class.
    pub const fn rule(self) -> Rule {
        let (decision, counts) = match self {
            Self::Error | Self::Trap | Self::Deadline => (Decision::Retry, Counts::Attempt),
            // The same input meets the same limit again.
            Self::Fuel
            | Self::Memory
            | Self::Table
            | Self::Stack
            | Self::Output
            | Self::LogFlood
            | Self::Disk => (Decision::FailUnlessPolicy, Counts::Attempt),
            Self::Permanent | Self::NotRunnable => (Decision::Fail, Counts::Attempt),
            Self::Lost => (Decision::RetryAtOnce, Counts::Crash),
            Self::Released => (Decision::GiveBack, Counts::Nothing),
            Self::Snoozed => (Decision::Later, Counts::Nothing),
            Self::Cancelled => (Decision::Cancel, Counts::Nothing),
        };
        Rule { decision, counts }
    }

    /// Whether the guest was stopped by a trap or by one of its limits, rather than by its own
    /// word. The CLI's exit code 4.
    pub const fn is_trap_or_limit(self) -> bool {
        matches!(
            self,
            Self::Trap
                | Self::Deadline
                | Self::Fuel
                | Self::Memory
                | Self::Table
                | Self::Stack
                | Self::Output
                | Self::LogFlood
                | Self::Disk
        )
    }
}

impl fmt::Display for FailureClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that names no failure class.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a failure class")]
pub struct UnknownClass(pub String);

impl FromStr for FailureClass {
    type Err = UnknownClass;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|class| class.as_str() == text)
            .ok_or_else(|| UnknownClass(text.to_owned()))
    }
}
