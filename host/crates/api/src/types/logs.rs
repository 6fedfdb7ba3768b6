//! What guests wrote.

use super::schema::LevelWord;
use cofferdam_core::ids::RunLease;
use cofferdam_core::log::{LogLevel, LogLine};
use cofferdam_store::LoggedLine;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Lines of a job's log, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogPage {
    /// The lines.
    pub items: Vec<LogView>,
    /// What to pass as `after` for the lines after these; always there, also when nothing has
    /// been written yet.
    pub next: String,
    /// Whether there will never be more: the job has ended and its log is read.
    pub done: bool,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogView {
    /// The attempt that wrote it, from 1.
    pub attempt: u32,
    /// The claim that the attempt was.
    #[schema(value_type = i64)]
    pub run_lease: RunLease,
    /// Milliseconds since the attempt started.
    pub at_ms: u64,
    /// Where it came from.
    #[schema(value_type = LevelWord)]
    pub level: LogLevel,
    /// The text, without its line break.
    pub message: String,
    /// Pairs that came with it, each a list of name and value.
    #[serde(default)]
    #[schema(value_type = Vec<Vec<String>>)]
    pub fields: Vec<(String, String)>,
}

impl From<LoggedLine> for LogView {
    fn from(logged: LoggedLine) -> Self {
        let LogLine { at_ms, level, message, fields } = logged.line;
        Self {
            attempt: logged.attempt,
            run_lease: logged.position.run_lease,
            at_ms,
            level,
            message,
            fields,
        }
    }
}

/// Which lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogQuery {
    /// The `next` of the lines before these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// How many lines at most, 1 to 200; 50 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
}
