//! `dlq retry`.

use crate::cli::dlq::Which;
use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use cofferdam_api::types::{Retried, RetryAllBody, RetryVersion};

/// Runs dead letters again.
pub(super) async fn run(
    which: Which,
    version: RetryVersion,
    client: &Client,
    printer: Printer,
) -> Result<Exit> {
    let Which { ids, all, kind } = which;
    let asked = ids.len() as u64;
    let body = RetryAllBody { ids, kind, all, version };
    let answer: Retried = client.post(&["dlq", "retry"], &body).await?;
    printer.data(&answer, |answer| format!("retried {}", answer.retried))?;
    if answer.retried < asked {
        printer.warn(&format!(
            "{} of the jobs are not in the dead-letter queue",
            asked - answer.retried
        ));
        return Ok(Exit::Failed);
    }
    Ok(Exit::Ok)
}
