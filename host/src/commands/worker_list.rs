//! `worker list`.

use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::text;
use crate::value::{Queues, Value as _};
use cofferdam_api::types::{ClusterView, Page, WorkerView};

/// Lists workers, and says on standard error when jobs are counted running on none of them.
pub(super) async fn run(client: &Client, printer: Printer) -> Result<Exit> {
    let page: Page<WorkerView> = client.get(&["workers"], &()).await?;
    let cluster: ClusterView = client.get(&["cluster"], &()).await?;
    printer.data(&page.items, |workers| {
        let rows = workers.iter().map(|worker| {
            let leads = cluster.leader.as_ref().is_some_and(|leader| leader.worker == worker.id);
            [
                worker.id.to_string(),
                format!("{}:{}", text::cell(&worker.hostname, 40), worker.pid),
                text::cell(&worker.version, 20),
                occupied(worker),
                Queues(worker.queues.clone()).show(),
                format!("{}{}", state(worker), if leads { ", leads" } else { "" }),
                text::time(worker.started_at),
                text::time(worker.seen_at),
            ]
        });
        let head = ["id", "process", "version", "occupied", "queues", "state", "started", "seen"];
        Printer::table(head, rows)
    })?;
    if let Some(note) = cluster.note {
        printer.warn(&note);
    }
    Ok(Exit::Ok)
}

fn occupied(worker: &WorkerView) -> String {
    let shown = format!("{}/{}", worker.occupied, worker.slots);
    if worker.leaked == 0 { shown } else { format!("{shown}, {} leaked", worker.leaked) }
}

/// What is to be known of a worker first.
fn state(worker: &WorkerView) -> String {
    match (worker.evicted, worker.gone_since) {
        (true, _) => "evicted".to_owned(),
        (false, Some(since)) => format!("gone since {}", text::time(since)),
        (false, None) if worker.draining => "draining".to_owned(),
        (false, None) if worker.drain_requested => "told to drain".to_owned(),
        (false, None) => "working".to_owned(),
    }
}
