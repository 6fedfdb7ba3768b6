//! `secret delete`.

use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use cofferdam_core::secret::SecretName;

/// Deletes a secret.
pub(super) async fn run(name: &SecretName, client: &Client, printer: Printer) -> Result<Exit> {
    client.delete(&["secrets", name.as_str()]).await?;
    let deleted = serde_json::json!({ "deleted": name });
    printer.data(&deleted, |_| format!("{name} deleted"))?;
    Ok(Exit::Ok)
}
