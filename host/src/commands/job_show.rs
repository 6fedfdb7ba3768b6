//! `job show`.

use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::text::{self, plain};
use cofferdam_api::types::{ErrorView, JobView, LimitsView, UsageView};
use cofferdam_core::ids::JobId;
use cofferdam_core::units::format_duration;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// Shows a job.
pub(super) async fn run(id: JobId, client: &Client, printer: Printer) -> Result<Exit> {
    let job: JobView = client.get(&["jobs", &id.to_string()], &()).await?;
    printer.data(&job, render)?;
    Ok(Exit::Ok)
}

fn render(job: &JobView) -> String {
    let summary = &job.summary;
    let mut rows = vec![
        ("id", summary.id.to_string()),
        ("state", state(job)),
        ("kind", format!("{}/{}", summary.module, summary.kind)),
        (
            "version",
            summary.version.as_ref().map_or_else(|| "current".to_owned(), ToString::to_string),
        ),
        ("queue", format!("{}, priority {}", summary.queue, summary.priority.get())),
        ("attempts", format!("{} of {}", summary.attempts, job.max_attempts)),
    ];
    if job.crashes > 0 {
        rows.push(("crashes", job.crashes.to_string()));
    }
    rows.push(("created", text::time(summary.created_at)));
    for (name, at) in [
        ("due", summary.run_at),
        ("started", summary.started_at),
        ("deadline", job.deadline_at),
        ("finished", summary.finished_at),
    ] {
        rows.extend(at.map(|at| (name, text::time(at))));
    }
    if let Some(progress) = &job.progress {
        rows.push(("progress", plain(&format!("{}% {}", progress.percent, progress.note))));
    }
    rows.extend(job.worker.map(|worker| ("worker", worker.to_string())));
    rows.push(("limits", limits(&job.limits)));
    rows.extend(job.usage.as_ref().map(|used| ("used", usage(used))));
    rows.push(("input", text::bytes(job.input_bytes)));
    rows.extend(job.output_bytes.map(|bytes| ("output", text::bytes(bytes))));
    if !job.args.is_empty() {
        rows.push(("args", plain(&job.args.join(" "))));
    }
    rows.extend(metadata(&job.metadata).map(|pairs| ("metadata", pairs)));
    let mut shown = text::pairs(&rows);
    shown.push_str(&errors(&job.errors));
    shown
}

fn state(job: &JobView) -> String {
    let why = job.cause.as_ref().or(job.reason.as_ref());
    match why {
        Some(why) => format!("{} ({})", job.summary.state, plain(why)),
        None => job.summary.state.to_string(),
    }
}

/// What an attempt may use, on a line.
pub(super) fn limits(limits: &LimitsView) -> String {
    format!(
        "{} deadline, {} fuel, {} memory",
        format_duration(limits.deadline),
        text::grouped(limits.fuel),
        text::bytes(limits.memory_bytes)
    )
}

/// What an attempt used, on a line.
pub(super) fn usage(usage: &UsageView) -> String {
    format!(
        "{} wall, {} cpu, {} fuel, {} memory, {} log",
        text::took(Duration::from_micros(usage.wall_micros)),
        text::took(Duration::from_micros(usage.cpu_micros)),
        text::grouped(usage.fuel),
        text::bytes(usage.peak_memory_bytes),
        text::bytes(usage.log_bytes)
    )
}

/// Metadata, a pair a line; nothing when there is none.
pub(super) fn metadata(metadata: &BTreeMap<String, String>) -> Option<String> {
    let lines: Vec<_> = metadata.iter().map(|(k, v)| plain(&format!("{k}={v}"))).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The attempts that failed, each with its backtrace.
pub(super) fn errors(errors: &[ErrorView]) -> String {
    let mut shown = String::new();
    for error in errors {
        let ErrorView { attempt, at, class, code, message, backtrace, .. } = error;
        let code = if *code == class.to_string() || code.is_empty() {
            String::new()
        } else {
            format!(" ({})", plain(code))
        };
        let message = text::indented(&plain(message), 2);
        let _ = writeln!(
            shown,
            "\nattempt {attempt} at {}: {class}{code}\n  {message}",
            text::time(*at)
        );
        for frame in backtrace.lines() {
            let _ = writeln!(shown, "    {}", plain(frame));
        }
    }
    shown
}
