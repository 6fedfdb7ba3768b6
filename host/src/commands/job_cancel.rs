//! `job cancel`.

use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use cofferdam_api::types::CancelAnswer;
use cofferdam_core::ids::JobId;
use cofferdam_core::state::JobState;

/// Cancels a job.
pub(super) async fn run(id: JobId, client: &Client, printer: Printer) -> Result<Exit> {
    let answer: CancelAnswer = client.act(&["jobs", &id.to_string(), "cancel"]).await?;
    printer.data(&answer, |answer| match answer.state {
        JobState::Cancelled => format!("{id} cancelled"),
        state => format!("{id} {state}, its worker was told to kill it"),
    })?;
    Ok(Exit::Ok)
}
