//! `queue pause` and `queue resume`.

use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use cofferdam_api::types::QueueView;
use cofferdam_core::name::QueueName;

/// Pauses or resumes a queue.
pub(super) async fn run(
    queue: &QueueName,
    verb: &'static str,
    client: &Client,
    printer: Printer,
) -> Result<Exit> {
    let view: QueueView = client.act(&["queues", queue.as_str(), verb]).await?;
    printer.data(&view, |view| {
        format!("{} {}", view.name, if view.paused { "paused" } else { "open" })
    })?;
    Ok(Exit::Ok)
}
