//! Jobs that must not end well, and how they must end.

use super::platform::Platform;
use super::{Row, field, same};
use crate::shell;
use anyhow::{Context, Result, ensure};
use std::time::{Duration, Instant};

/// The CLI's exit code for a job that trapped or hit a limit.
const TRAPPED: i32 = 4;

/// The deadline of the runaway.
const DEADLINE: Duration = Duration::from_millis(500);

/// A handler that spins for ever is killed at its deadline.
pub(crate) fn runaway(platform: &Platform) -> Result<Row> {
    shell::say("cofferdam job submit misbehave/spin --deadline 500ms --wait");
    let start = Instant::now();
    let submit = ["job", "submit", "misbehave/spin", "--deadline", "500ms"];
    let id = submit_once(platform, &submit)?;
    platform.read_failing(&["job", "wait", &id, "--timeout", "1m"], TRAPPED)?;
    let job = show(platform, &["job", "show", &id])?;
    same("the state", &field(&job, "state")?.as_str(), &Some("dead"))?;
    same("the class", &field(&job, "class")?.as_str(), &Some("deadline"))?;
    // The deadline counts from the claim, which comes a little before the handler's start.
    let wall = field(&job, "usage.wall_micros")?.as_u64().context("no wall time")?;
    let wall = Duration::from_micros(wall);
    let killed_in_time = DEADLINE / 2 < wall && wall < DEADLINE * 2;
    ensure!(killed_in_time, "the runaway was killed after {wall:?}");
    Ok(Row {
        what: "misbehave/spin",
        jobs: 1,
        took: start.elapsed(),
        checked: format!("killed {:.0} ms into its deadline of 500 ms", wall.as_secs_f64() * 1e3),
    })
}

/// A handler that always panics ends in the dead-letter queue, with its backtrace.
pub(crate) fn poison(platform: &Platform) -> Result<Row> {
    shell::say("cofferdam job submit misbehave/panic --max-attempts 2 --wait");
    let start = Instant::now();
    let submit = ["job", "submit", "misbehave/panic", "--max-attempts", "2"];
    let id = submit_once(platform, &submit)?;
    platform.read_failing(&["job", "wait", &id, "--timeout", "1m"], TRAPPED)?;
    let letter = show(platform, &["dlq", "show", &id])?;
    let errors = field(&letter, "errors")?.as_array().context("no error history")?;
    same("the number of attempts", &errors.len(), &2)?;
    let last = errors.last().context("no error")?;
    let message = field(last, "message")?.as_str().unwrap_or_default();
    ensure!(message.contains("a handler's own panic"), "the message is {message:?}");
    let backtrace = field(last, "backtrace")?.as_str().unwrap_or_default();
    let frame = backtrace
        .lines()
        .find(|line| line.contains("misbehave::"))
        .with_context(|| format!("no frame of the handler in its backtrace:\n{backtrace}"))?;
    Ok(Row {
        what: "misbehave/panic",
        jobs: 1,
        took: start.elapsed(),
        checked: format!("in the DLQ after 2 attempts, at {}", frame.trim()),
    })
}

fn submit_once(platform: &Platform, arguments: &[&str]) -> Result<String> {
    let mut arguments = arguments.to_vec();
    if !arguments.contains(&"--max-attempts") {
        arguments.extend(["--max-attempts", "1"]);
    }
    Ok(String::from_utf8(platform.read(&arguments)?)?.trim().to_owned())
}

fn show(platform: &Platform, arguments: &[&str]) -> Result<serde_json::Value> {
    let mut arguments = arguments.to_vec();
    arguments.push("--json");
    Ok(serde_json::from_slice(&platform.read(&arguments)?)?)
}
