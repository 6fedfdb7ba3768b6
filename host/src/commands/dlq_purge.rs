//! `dlq purge`.

use crate::cli::dlq::Which;
use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use cofferdam_api::types::{PurgeBody, Purged};
use std::time::Duration;

/// Deletes dead letters.
pub(super) async fn run(
    which: Which,
    older_than: Option<Duration>,
    client: &Client,
    printer: Printer,
) -> Result<Exit> {
    let Which { ids, all, kind } = which;
    let body = PurgeBody { ids, kind, all, older_than };
    let answer: Purged = client.post(&["dlq", "purge"], &body).await?;
    printer.data(&answer, |answer| format!("purged {}", answer.purged))?;
    Ok(Exit::Ok)
}
