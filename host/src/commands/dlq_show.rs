//! `dlq show`.

use super::job_logs;
use super::job_show::{errors, limits, metadata, usage};
use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::text::{self, plain};
use cofferdam_api::types::DlqDetail;
use cofferdam_core::ids::JobId;
use std::fmt::Write as _;

/// Shows a dead letter.
pub(super) async fn run(id: JobId, client: &Client, printer: Printer) -> Result<Exit> {
    let letter: DlqDetail = client.get(&["dlq", &id.to_string()], &()).await?;
    printer.data(&letter, render)?;
    Ok(Exit::Ok)
}

fn render(detail: &DlqDetail) -> String {
    let letter = &detail.letter;
    let state = match &letter.reason {
        Some(reason) => format!("{} ({})", letter.state, plain(reason)),
        None => letter.state.to_string(),
    };
    let mut rows = vec![
        ("id", letter.id.to_string()),
        ("state", state),
        ("kind", format!("{}/{}", letter.module, letter.kind)),
        ("version", letter.version.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string)),
        ("queue", letter.queue.to_string()),
        ("attempts", letter.attempts.to_string()),
        ("crashes", letter.crashes.to_string()),
        ("created", text::time(letter.created_at)),
        ("finished", text::time(letter.finished_at)),
    ];
    rows.extend(detail.digest.as_ref().map(|digest| ("digest", digest.to_string())));
    rows.push(("limits", limits(&detail.limits)));
    rows.extend(detail.usage.as_ref().map(|used| ("used", usage(used))));
    rows.push(("input", text::bytes(detail.input_bytes)));
    rows.extend(metadata(&detail.metadata).map(|pairs| ("metadata", pairs)));
    let mut shown = text::pairs(&rows);
    shown.push_str(&errors(&detail.errors));
    if !detail.log.is_empty() {
        shown.push_str("\nthe end of its log\n");
    }
    for line in &detail.log {
        let _ = writeln!(shown, "  {}", job_logs::render(line));
    }
    let _ = writeln!(
        shown,
        "\n`cofferdam dlq retry {0}` runs it again, `cofferdam job input {0}` prints its input",
        letter.id
    );
    shown
}
