//! `job retry`.

use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use cofferdam_api::types::{RetryAnswer, RetryBody, RetryVersion};
use cofferdam_core::ids::JobId;

/// Brings a job back that ended without success.
pub(super) async fn run(
    id: JobId,
    version: RetryVersion,
    client: &Client,
    printer: Printer,
) -> Result<Exit> {
    let path = ["jobs", &id.to_string(), "retry"];
    let answer: RetryAnswer = client.post(&path, &RetryBody { version }).await?;
    printer.data(&answer, |answer| format!("{id} {}", answer.state))?;
    Ok(Exit::Ok)
}
