//! `cluster`.

use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::text::{self, plain};
use cofferdam_api::types::{ClusterView, SweepView};
use std::time::Duration;

/// How much of an error fits into a table.
const ERROR: usize = 60;

/// Shows the installation as a whole.
pub(super) async fn run(client: &Client, printer: Printer) -> Result<Exit> {
    let cluster: ClusterView = client.get(&["cluster"], &()).await?;
    printer.data(&cluster, render)?;
    if let Some(note) = cluster.note {
        printer.warn(&note);
    }
    Ok(Exit::Ok)
}

fn render(cluster: &ClusterView) -> String {
    let leader = cluster.leader.as_ref().map_or_else(
        || "none".to_owned(),
        |leader| {
            let (worker, epoch) = (leader.worker, leader.epoch);
            let (since, until) = (text::time(leader.acquired_at), text::time(leader.expires_at));
            format!("{worker}, epoch {epoch}, since {since}, until {until} unless renewed")
        },
    );
    let oldest = cluster.oldest_heartbeat_ms.map_or_else(|| "-".to_owned(), took_millis);
    let mut shown = text::pairs(&[
        ("leader", leader),
        ("running", text::grouped(cluster.running)),
        ("occupied", text::grouped(cluster.occupied)),
        ("orphaned", text::grouped(cluster.orphaned)),
        ("oldest heartbeat", oldest),
    ]);
    if !cluster.orphans.is_empty() {
        let rows = cluster.orphans.iter().map(|orphans| {
            [plain(&orphans.tenant), plain(&orphans.queue), text::grouped(orphans.count)]
        });
        shown.push('\n');
        shown.push_str(&Printer::table(["tenant", "queue", "orphaned"], rows));
        shown.push('\n');
    }
    shown.push('\n');
    let head = ["sweep", "last run", "took", "rows", "runs", "rows in all", "failed", "error"];
    shown.push_str(&Printer::table(head, cluster.sweeps.iter().map(sweep)));
    shown
}

fn sweep(sweep: &SweepView) -> [String; 8] {
    [
        plain(&sweep.name),
        text::time(sweep.last_run_at),
        text::took(Duration::from_micros(sweep.last_micros)),
        text::grouped(sweep.last_rows),
        text::grouped(sweep.runs),
        text::grouped(sweep.rows),
        text::grouped(sweep.failures),
        sweep.error.as_deref().map_or_else(|| "-".to_owned(), |error| text::cell(error, ERROR)),
    ]
}

fn took_millis(millis: u64) -> String {
    format!("{} ago", text::took(Duration::from_millis(millis)))
}
