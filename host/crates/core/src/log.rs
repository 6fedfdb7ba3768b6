//! Lines that a guest wrote.

use crate::hint::Hint;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Where a line came from, and how grave it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// `log(trace, ..)`.
    Trace,
    /// `log(debug, ..)`.
    Debug,
    /// Standard output of the guest.
    Stdout,
    /// `log(info, ..)`.
    Info,
    /// `log(warn, ..)`.
    Warn,
    /// Standard error of the guest.
    Stderr,
    /// `log(error, ..)`.
    Error,
    /// The host's own remarks, such as how much was dropped.
    Host,
}

impl LogLevel {
    /// Every level.
    pub const ALL: [Self; 8] = [
        Self::Trace,
        Self::Debug,
        Self::Stdout,
        Self::Info,
        Self::Warn,
        Self::Stderr,
        Self::Error,
        Self::Host,
    ];

    /// The level's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Stdout => "stdout",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Stderr => "stderr",
            Self::Error => "error",
            Self::Host => "host",
        }
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that names no log level.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a log level")]
pub struct UnknownLevel(pub String);

impl Hint for UnknownLevel {}

impl FromStr for LogLevel {
    type Err = UnknownLevel;
    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        Self::ALL
            .into_iter()
            .find(|level| level.as_str() == text)
            .ok_or_else(|| UnknownLevel(text.to_owned()))
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// Milliseconds since the attempt started.
    pub at_ms: u64,
    /// Where it came from.
    pub level: LogLevel,
    /// The text, without its line break.
    pub message: String,
    /// Pairs that came with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<(String, String)>,
}
