//! `worker drain`.

use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use cofferdam_api::types::WorkerView;
use cofferdam_core::ids::WorkerId;

/// Tells a worker to drain.
pub(super) async fn run(id: WorkerId, client: &Client, printer: Printer) -> Result<Exit> {
    let worker: WorkerView = client.act(&["workers", &id.to_string(), "drain"]).await?;
    printer.data(&worker, |worker| format!("{id} drains, {} running", worker.occupied))?;
    Ok(Exit::Ok)
}
