//! `dlq list`.

use super::paging;
use crate::cli::module::PageArgs;
use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::text;
use cofferdam_api::types::{DlqQuery, DlqView};
use cofferdam_core::name::KindName;

/// How much of a message fits into a table.
const MESSAGE: usize = 60;

/// Lists dead letters, newest first.
pub(super) async fn run(
    kind: Option<KindName>,
    page: PageArgs,
    client: &Client,
    printer: Printer,
) -> Result<Exit> {
    let query = |before, limit| DlqQuery { kind: kind.clone(), before, limit };
    let letters: Vec<DlqView> =
        paging::collect(client, printer, &["dlq"], page.limit, query).await?;
    printer.data(&letters, |letters| {
        let rows = letters.iter().map(|letter| {
            [
                letter.id.to_string(),
                letter.state.to_string(),
                format!("{}/{}", letter.module, letter.kind),
                letter.class.map_or_else(|| "-".to_owned(), |class| class.to_string()),
                letter.attempts.to_string(),
                text::time(letter.finished_at),
                text::cell(letter.message.as_deref().unwrap_or("-"), MESSAGE),
            ]
        });
        Printer::table(["id", "state", "kind", "class", "attempts", "finished", "message"], rows)
    })?;
    Ok(Exit::Ok)
}
