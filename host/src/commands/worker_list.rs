//! `worker list`.

use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::text;
use crate::value::{Queues, Value as _};
use cofferdam_api::types::{Page, WorkerView};

/// Lists workers.
pub(super) async fn run(client: &Client, printer: Printer) -> Result<Exit> {
    let page: Page<WorkerView> = client.get(&["workers"], &()).await?;
    printer.data(&page.items, |workers| {
        let rows = workers.iter().map(|worker| {
            [
                worker.id.to_string(),
                format!("{}:{}", text::cell(&worker.hostname, 40), worker.pid),
                text::cell(&worker.version, 20),
                format!("{}/{}", worker.occupied, worker.slots),
                Queues(worker.queues.clone()).show(),
                if worker.draining { "draining" } else { "working" }.to_owned(),
                text::time(worker.started_at),
                text::time(worker.seen_at),
            ]
        });
        let head = ["id", "process", "version", "occupied", "queues", "state", "started", "seen"];
        Printer::table(head, rows)
    })?;
    Ok(Exit::Ok)
}
