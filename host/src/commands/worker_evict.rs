//! `worker evict`.

use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use cofferdam_api::types::EvictAnswer;
use cofferdam_core::ids::WorkerId;

/// Declares a worker dead.
pub(super) async fn run(id: WorkerId, client: &Client, printer: Printer) -> Result<Exit> {
    let answer: EvictAnswer = client.act(&["workers", &id.to_string(), "evict"]).await?;
    printer.data(&answer, |answer| {
        let jobs = if answer.taken_back == 1 { "job" } else { "jobs" };
        format!("{id} evicted, {} {jobs} taken back", answer.taken_back)
    })?;
    Ok(Exit::Ok)
}
