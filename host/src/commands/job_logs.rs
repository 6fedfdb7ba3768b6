//! `job logs`.

use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::text::plain;
use cofferdam_api::types::{LogPage, LogQuery, LogView, MAX_LIMIT};
use cofferdam_core::ids::JobId;
use cofferdam_core::log::LogLevel;
use owo_colors::OwoColorize as _;
use std::fmt::Write as _;
use std::time::Duration;

/// How long to wait before asking for more of a log that has not ended.
const PAUSE: Duration = Duration::from_millis(300);

/// Prints the log of a job, to its end or to what there is.
pub(super) async fn run(
    id: JobId,
    follow: bool,
    attempt: Option<u32>,
    client: &Client,
    printer: Printer,
) -> Result<Exit> {
    let mut tail = Tail::new(id);
    loop {
        let Some(lines) = tail.next(client).await? else { return Ok(Exit::Ok) };
        for line in lines.iter().filter(|line| attempt.is_none_or(|wanted| wanted == line.attempt))
        {
            printer.data(line, render)?;
        }
        if lines.is_empty() {
            if !follow {
                return Ok(Exit::Ok);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Shows the log of a job as notes, until the job has ended.
pub(super) async fn follow(id: JobId, client: &Client, printer: Printer) -> Result<()> {
    let mut tail = Tail::new(id);
    while let Some(lines) = tail.next(client).await? {
        for line in &lines {
            printer.note(&render(line));
        }
        if lines.is_empty() {
            tokio::time::sleep(PAUSE).await;
        }
    }
    Ok(())
}

/// A place in a log.
struct Tail {
    id: String,
    after: Option<String>,
    done: bool,
}

impl Tail {
    fn new(id: JobId) -> Self {
        Self { id: id.to_string(), after: None, done: false }
    }

    /// The next lines, which may be none yet; `None` when there will never be more.
    async fn next(&mut self, client: &Client) -> Result<Option<Vec<LogView>>> {
        if self.done {
            return Ok(None);
        }
        let query = LogQuery { after: self.after.take(), limit: Some(MAX_LIMIT) };
        let page: LogPage = client.get(&["jobs", &self.id, "logs"], &query).await?;
        self.after = Some(page.next);
        self.done = page.done;
        Ok(Some(page.items))
    }
}

/// A line for people: attempt, time since its start, level, message, fields.
pub(super) fn render(line: &LogView) -> String {
    line_of(line.attempt, line.at_ms, line.level, &line.message, &line.fields)
}

/// The same from its parts.
pub(super) fn line_of(
    attempt: u32,
    at_ms: u64,
    level: LogLevel,
    message: &str,
    fields: &[(String, String)],
) -> String {
    let word = format!("{level:<6}");
    let word = match level {
        LogLevel::Error | LogLevel::Stderr => word.red().to_string(),
        LogLevel::Warn | LogLevel::Host => word.yellow().to_string(),
        LogLevel::Info | LogLevel::Stdout => word.green().to_string(),
        LogLevel::Debug | LogLevel::Trace => word.dimmed().to_string(),
    };
    let mut line =
        format!("{attempt} {:>6}.{:03}s {word} {}", at_ms / 1000, at_ms % 1000, plain(message));
    for (name, value) in fields {
        let _ = write!(line, " {}={}", plain(name).dimmed(), plain(value));
    }
    line.truncate(line.trim_end().len());
    line
}
