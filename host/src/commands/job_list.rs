//! `job list`.

use super::paging;
use crate::cli::job::ListArgs;
use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::text;
use cofferdam_api::types::{JobQuery, JobSummary};

/// How much of a message fits into a table.
const MESSAGE: usize = 60;

/// Lists jobs, newest first.
pub(super) async fn run(args: ListArgs, client: &Client, printer: Printer) -> Result<Exit> {
    let query = |before, limit| JobQuery {
        state: args.state,
        kind: args.kind.clone(),
        queue: args.queue.clone(),
        module: args.module.clone(),
        before,
        limit,
    };
    let jobs: Vec<JobSummary> =
        paging::collect(client, printer, &["jobs"], args.page.limit, query).await?;
    printer.data(&jobs, |jobs| {
        let rows = jobs.iter().map(|job| {
            [
                job.id.to_string(),
                job.state.to_string(),
                format!("{}/{}", job.module, job.kind),
                job.version.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
                job.queue.to_string(),
                job.attempts.to_string(),
                text::time(job.created_at),
                why(job),
            ]
        });
        let head = ["id", "state", "kind", "version", "queue", "attempts", "created", "error"];
        Printer::table(head, rows)
    })?;
    Ok(Exit::Ok)
}

fn why(job: &JobSummary) -> String {
    let class = job.class.map(|class| class.to_string()).unwrap_or_default();
    match &job.message {
        Some(message) => text::cell(&format!("{class}: {message}"), MESSAGE),
        None => class,
    }
}
