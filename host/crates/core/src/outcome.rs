//! How one attempt ended and what it used.

use crate::class::FailureClass;
use crate::wait::CallbackHash;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What an attempt used.
///
/// After a kill the fuel is what had been counted at the last call or return of the guest, which
/// can be far too little; the CPU time is the truth then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Fuel units.
    pub fuel: u64,
    /// Microseconds of CPU time: the time inside the guest and its host calls, waiting excluded.
    pub cpu_micros: u64,
    /// Microseconds from the start of the attempt to its end.
    pub wall_micros: u64,
    /// The largest sum of linear memories, in bytes.
    pub peak_memory_bytes: u64,
    /// Bytes of log that the guest wrote, kept or not.
    pub log_bytes: u64,
    /// Bytes of output.
    pub output_bytes: u64,
}

/// What the handler's error says about another attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryAdvice {
    /// By the job's own backoff.
    #[default]
    Default,
    /// After this delay.
    After(#[serde(with = "crate::units::duration")] Duration),
    /// When somebody called back, or this time is over. Only of class `snoozed`.
    Wait(#[serde(with = "crate::units::duration")] Duration),
}

/// An attempt that ended without success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its row in the failure table.
    pub class: FailureClass,
    /// A short word for programs: the handler's own code, or a trap's name such as `unreachable`.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// Function names and lines of the guest, innermost first, one a line; empty when there are none.
    pub backtrace: String,
    /// When to try again, where the class leaves that to the handler (`error` and `snoozed`).
    pub advice: RetryAdvice,
    /// The callback that ends a wait earlier. Boxed, because few failures have one and all are
    /// returned by value.
    pub callback: Option<Box<CallbackHash>>,
}

impl Failure {
    /// A failure without a backtrace.
    pub fn new(class: FailureClass, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            class,
            code: code.into(),
            message: message.into(),
            backtrace: String::new(),
            advice: RetryAdvice::Default,
            callback: None,
        }
    }
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// With this output.
    Completed(Vec<u8>),
    /// Without.
    Failed(Failure),
}

/// The whole result of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// What it used.
    pub usage: Usage,
}
