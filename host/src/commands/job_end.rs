//! What the end of a job means for the command that waited for it.

use crate::client::Client;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::text;
use cofferdam_api::types::JobView;
use cofferdam_core::class::FailureClass;
use cofferdam_core::ids::JobId;
use cofferdam_core::state::JobState;
use cofferdam_core::units::format_duration;
use serde::Serialize;
use serde_json::value::RawValue;
use std::time::{Duration, Instant};

/// How many frames an error shows. `job show` shows all of them.
const FRAMES: usize = 6;

/// How long one request waits. Proxies cut longer ones off.
const ROUND: Duration = Duration::from_secs(20);

/// Waits until a job has ended.
pub(super) async fn wait(client: &Client, id: JobId, within: Option<Duration>) -> Result<JobView> {
    let end = within.and_then(|within| Instant::now().checked_add(within));
    let id_text = id.to_string();
    loop {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let round = left.map_or(ROUND, |left| left.min(ROUND));
        let query = [("timeout", format_duration(round))];
        let job: JobView = client.get_slow(&["jobs", &id_text, "wait"], &query, round).await?;
        if job.summary.state.is_terminal() {
            return Ok(job);
        }
        if left.is_some_and(|left| left <= round) {
            let within = format_duration(within.unwrap_or_default());
            let message = format!("job {id} is still {} after {within}", job.summary.state);
            return Err(CommandError::new(Exit::TimedOut, message)
                .hint(format!("it goes on; `cofferdam job wait {id}` waits again")));
        }
    }
}

/// How to exit after a job that ended like this.
pub(super) fn exit(state: JobState, class: Option<FailureClass>) -> Exit {
    match (state, class) {
        (JobState::Completed, _) => Exit::Ok,
        (JobState::Failed | JobState::Dead, Some(class)) if class.is_trap_or_limit() => Exit::Limit,
        _ => Exit::Failed,
    }
}

/// A job that did not complete, as the error of the command that waited for it.
pub(super) fn failure(job: &JobView) -> CommandError {
    let summary = &job.summary;
    let id = summary.id;
    let word = match summary.state {
        JobState::Cancelled => "was cancelled",
        JobState::Dead => "is dead",
        _ => "failed",
    };
    let attempts = match summary.attempts {
        1 => "1 attempt".to_owned(),
        attempts => format!("{attempts} attempts"),
    };
    let message = format!("job {id} {word} after {attempts}");
    let mut error = CommandError::new(exit(summary.state, summary.class), message);
    if let Some(last) = job.errors.last() {
        error = error.cause(format!("{}: {}", last.class, last.message));
        error.code = Some(last.class.to_string());
        let frames = text::own_frames(&last.backtrace, FRAMES);
        if !frames.is_empty() {
            error = error.cause(format!("in the guest\n{}", frames.join("\n")));
        }
    } else if let Some(cause) = &job.cause {
        error = error.cause(format!("cancelled by {cause}"));
    }
    error.hint(format!(
        "`cofferdam job show {id}` shows every attempt, `cofferdam job logs {id}` its log"
    ))
}

/// A job that ended, with its output: what `job submit --wait --json` prints.
#[derive(Debug, Serialize)]
pub(super) struct Ended {
    #[serde(flatten)]
    job: JobView,
    /// The output where it is JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Box<RawValue>>,
    /// The output where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_base64: Option<String>,
}

impl Ended {
    /// Puts a job and its output together.
    pub(super) fn new(job: JobView, output: Option<Vec<u8>>) -> Self {
        let (output, output_base64) = output.map_or((None, None), |bytes| json_or_base64(&bytes));
        Self { job, output, output_base64 }
    }
}

/// Bytes as JSON where they are JSON, in Base64 where they are not.
pub(super) fn json_or_base64(bytes: &[u8]) -> (Option<Box<RawValue>>, Option<String>) {
    use base64::Engine as _;
    match serde_json::from_slice(bytes) {
        Ok(json) => (Some(json), None),
        Err(_) => (None, Some(base64::engine::general_purpose::STANDARD.encode(bytes))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exits_tell_limits_from_errors() {
        use FailureClass as C;
        assert_eq!(
            exit(JobState::Completed, Some(C::Trap)),
            Exit::Ok,
            "an earlier attempt trapped"
        );
        assert_eq!(exit(JobState::Dead, Some(C::Trap)), Exit::Limit);
        assert_eq!(exit(JobState::Failed, Some(C::Fuel)), Exit::Limit);
        assert_eq!(exit(JobState::Failed, Some(C::Permanent)), Exit::Failed);
        assert_eq!(exit(JobState::Cancelled, Some(C::Deadline)), Exit::Failed);
    }

    #[test]
    fn output_travels_as_what_it_is() {
        let (json, base64) = json_or_base64(b"{\"a\": 1.50}");
        assert_eq!((json.unwrap().get(), base64), ("{\"a\": 1.50}", None));
        let (json, base64) = json_or_base64(&[0xff, 0]);
        assert!(json.is_none());
        assert_eq!(base64.as_deref(), Some("/wA="));
    }
}
