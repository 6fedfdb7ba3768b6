//! `secret list`.

use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::text;
use cofferdam_api::types::{Page, SecretView};

/// Lists secrets by name.
pub(super) async fn run(client: &Client, printer: Printer) -> Result<Exit> {
    let page: Page<SecretView> = client.get(&["secrets"], &()).await?;
    printer.data(&page.items, |secrets| {
        let rows = secrets.iter().map(|secret| {
            [secret.name.to_string(), text::time(secret.created_at), text::time(secret.updated_at)]
        });
        Printer::table(["name", "created", "last set"], rows)
    })?;
    Ok(Exit::Ok)
}
