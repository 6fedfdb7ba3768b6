//! `queue list`.

use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::text;
use cofferdam_api::types::{Page, QueueView};
use std::time::Duration;

/// Lists queues.
pub(super) async fn run(client: &Client, printer: Printer) -> Result<Exit> {
    let page: Page<QueueView> = client.get(&["queues"], &()).await?;
    printer.data(&page.items, |queues| {
        let rows = queues.iter().map(|queue| {
            let more = if queue.capped { " or more" } else { "" };
            let age = |millis| text::took(Duration::from_millis(millis));
            [
                queue.name.to_string(),
                if queue.paused { "paused" } else { "open" }.to_owned(),
                format!("{}{more}", text::grouped(queue.ready_at_least)),
                text::grouped(queue.running),
                queue.oldest_ready_age_ms.map_or_else(|| "-".to_owned(), age),
            ]
        });
        Printer::table(["queue", "state", "ready", "running", "oldest ready"], rows)
    })?;
    Ok(Exit::Ok)
}
