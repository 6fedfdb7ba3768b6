//! Lists that the server gives page by page.

use crate::client::Client;
use crate::error::Result;
use crate::printer::Printer;
use cofferdam_api::types::{MAX_LIMIT, Page};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads up to `limit` items. `query` makes the query of a page from its `before` and `limit`.
pub(super) async fn collect<T, Q>(
    client: &Client,
    printer: Printer,
    path: &[&str],
    limit: u32,
    query: impl Fn(Option<String>, Option<u32>) -> Q,
) -> Result<Vec<T>>
where
    T: DeserializeOwned,
    Q: Serialize + Sync,
{
    let mut items: Vec<T> = Vec::new();
    let mut before = None;
    loop {
        let got = u32::try_from(items.len()).unwrap_or(u32::MAX);
        let wanted = limit.saturating_sub(got).min(MAX_LIMIT);
        let page: Page<T> = client.get(path, &query(before, Some(wanted))).await?;
        items.extend(page.items);
        before = page.next;
        let full = items.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
        if before.is_some() && full {
            printer.note(&format!("There are more; these are the newest {limit}. -n shows more."));
        }
        if before.is_none() || full {
            return Ok(items);
        }
    }
}
