//! A job as it is asked for.

use crate::hint::Hint;
use crate::ids::JobId;
use crate::limits::{self, LimitWish};
use crate::module::ModuleRef;
use crate::name::QueueName;
use crate::retry::Backoff;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// How often a job is attempted when nobody says otherwise: once, and three retries.
pub const DEFAULT_MAX_ATTEMPTS: u32 = 4;
/// The most attempts that anyone may ask for: the error history grows with them.
pub const MAX_MAX_ATTEMPTS: u32 = 100;
/// How often a job may be lost with its worker before it is taken for poison.
pub const DEFAULT_MAX_CRASHES: u32 = 3;
/// The longest command-line argument list of a command job, in bytes.
pub const MAX_ARGS_BYTES: usize = 64 * 1024;

/// 1 (highest) to 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Priority(u8);

impl Priority {
    /// Checks a number.
    pub const fn new(number: u8) -> Result<Self, PriorityError> {
        if number >= 1 && number <= 4 { Ok(Self(number)) } else { Err(PriorityError(number)) }
    }

    /// The number, 1 to 4.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self(2)
    }
}

impl TryFrom<u8> for Priority {
    type Error = PriorityError;
    fn try_from(number: u8) -> Result<Self, PriorityError> {
        Self::new(number)
    }
}

impl From<Priority> for u8 {
    fn from(priority: Priority) -> Self {
        priority.0
    }
}

/// A number that is no priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0} is not a priority: priorities go from 1 (highest) to 4")]
pub struct PriorityError(pub u8);

/// What the submitter may say about a job. Kept with it, unchanged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobOptions {
    /// How often it may be attempted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// How the delay between attempts grows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    /// Wall-clock time, fuel and memory.
    #[serde(default)]
    pub limits: LimitWish,
    /// Arguments of a command job, without the program's name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Environment variables of a command job, over those of the manifest.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// What the submitter wants the handler and the operator to see.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

/// A job that someone wants to have done.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// Made by the submitter, so that submitting twice is submitting once; or `None`.
    pub id: Option<JobId>,
    /// What to run.
    pub module: ModuleRef,
    /// Its queue; the kind's own when left out, and `default` after that.
    pub queue: Option<QueueName>,
    /// Its priority.
    pub priority: Priority,
    /// Not before this time.
    pub run_at: Option<crate::Time>,
    /// The input, as the handler will get it.
    pub payload: Vec<u8>,
    /// Everything else.
    pub options: JobOptions,
}

/// An option of a job that is out of its bounds.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OptionError {
    /// The payload is too large.
    #[error("the payload is {bytes} bytes, more than the {max} that a job may carry")]
    Payload {
        /// How large it is.
        bytes: u64,
        /// How large it may be.
        max: u64,
    },
    /// Zero or too many attempts.
    #[error("max_attempts is {0}, but must be 1 to {MAX_MAX_ATTEMPTS}")]
    MaxAttempts(u32),
    /// A limit that is zero.
    #[error("{0} is zero")]
    ZeroLimit(&'static str),
    /// Too much metadata.
    #[error("the metadata has more than {} pairs or one longer than {} bytes", limits::MAX_METADATA.0, limits::MAX_METADATA.1)]
    Metadata,
    /// Too many or too long arguments or variables.
    #[error("args and env are longer than {MAX_ARGS_BYTES} bytes together")]
    Args,
    /// A NUL byte in a text that the database or an operating system cannot hold.
    #[error("{0} contains a NUL byte")]
    Nul(&'static str),
}

impl OptionError {
    /// The option that is wrong, as requests name it.
    pub fn field(&self) -> &'static str {
        match self {
            Self::Payload { .. } => "input",
            Self::MaxAttempts(_) => "max_attempts",
            Self::ZeroLimit("the deadline") => "deadline",
            Self::ZeroLimit("the fuel budget") => "fuel",
            Self::ZeroLimit(_) => "memory",
            Self::Metadata | Self::Nul("the metadata") => "metadata",
            Self::Args | Self::Nul(_) => "args",
        }
    }
}

impl Hint for OptionError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Payload { .. } => {
                Some("store the data elsewhere and submit a reference to it".to_owned())
            }
            Self::Nul("the metadata") => Some("send bytes in the payload instead".to_owned()),
            _ => None,
        }
    }
}

impl NewJob {
    /// Checks everything that can be checked without knowing the module.
    pub fn check(&self) -> Result<(), OptionError> {
        let bytes = self.payload.len() as u64;
        if bytes > limits::MAX_PAYLOAD {
            return Err(OptionError::Payload { bytes, max: limits::MAX_PAYLOAD });
        }
        self.options.check()
    }
}

impl JobOptions {
    /// Checks the bounds of every option.
    pub fn check(&self) -> Result<(), OptionError> {
        if let Some(max) = self.max_attempts
            && !(1..=MAX_MAX_ATTEMPTS).contains(&max)
        {
            return Err(OptionError::MaxAttempts(max));
        }
        if self.limits.deadline.is_some_and(|deadline| deadline.is_zero()) {
            return Err(OptionError::ZeroLimit("the deadline"));
        }
        if self.limits.fuel == Some(0) {
            return Err(OptionError::ZeroLimit("the fuel budget"));
        }
        if self.limits.memory_bytes == Some(0) {
            return Err(OptionError::ZeroLimit("the memory limit"));
        }
        let (pairs, longest) = limits::MAX_METADATA;
        let too_long = |text: &String| text.len() > longest;
        if self.metadata.len() > pairs
            || self.metadata.iter().any(|(k, v)| too_long(k) || too_long(v))
        {
            return Err(OptionError::Metadata);
        }
        let env_bytes: usize = self.env.iter().map(|(k, v)| k.len() + v.len()).sum();
        let args_bytes: usize = self.args.iter().map(|arg| arg.len() + 1).sum();
        if env_bytes + args_bytes > MAX_ARGS_BYTES {
            return Err(OptionError::Args);
        }
        let nul = |text: &String| text.contains('\0');
        if self.metadata.iter().any(|(k, v)| nul(k) || nul(v)) {
            return Err(OptionError::Nul("the metadata"));
        }
        if self.args.iter().any(nul) || self.env.iter().any(|(k, v)| nul(k) || nul(v)) {
            return Err(OptionError::Nul("an argument or variable"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn options_have_bounds() {
        let refused = |options: JobOptions| options.check().unwrap_err();
        let ok = JobOptions { max_attempts: Some(1), ..JobOptions::default() };
        assert_eq!(ok.check(), Ok(()));
        let zero = JobOptions { max_attempts: Some(0), ..JobOptions::default() };
        assert_eq!(refused(zero), OptionError::MaxAttempts(0));
        let limits = LimitWish { fuel: Some(0), ..LimitWish::default() };
        assert_eq!(refused(JobOptions { limits, ..JobOptions::default() }).field(), "fuel");
        let nul = JobOptions {
            metadata: [("a".to_owned(), "b\0".to_owned())].into(),
            ..JobOptions::default()
        };
        assert_eq!(refused(nul), OptionError::Nul("the metadata"));
        let flood = JobOptions { args: vec!["x".repeat(MAX_ARGS_BYTES)], ..JobOptions::default() };
        assert_eq!(refused(flood), OptionError::Args);
    }

    /// S18: no job may ask to run without a deadline.
    #[test]
    fn a_deadline_of_nothing_is_refused() {
        let limits = LimitWish { deadline: Some(Duration::ZERO), ..LimitWish::default() };
        let error = JobOptions { limits, ..JobOptions::default() }.check().unwrap_err();
        assert_eq!(error, OptionError::ZeroLimit("the deadline"));
        assert_eq!(error.field(), "deadline");
    }

    #[test]
    fn priorities_go_from_one_to_four() {
        assert!(Priority::new(0).is_err() && Priority::new(5).is_err());
        assert_eq!(Priority::default().get(), 2);
    }
}
