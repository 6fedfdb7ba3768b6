//! `module delete`.

use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use cofferdam_core::module::ModuleRef;

/// Deletes a version, or a module with all of its versions.
pub(super) async fn run(module: &ModuleRef, client: &Client, printer: Printer) -> Result<Exit> {
    let name = module.name.as_str();
    match &module.version {
        None => client.delete(&["modules", name]).await?,
        Some(version) => client.delete(&["modules", name, "versions", version.as_str()]).await?,
    }
    let deleted = serde_json::json!({ "deleted": module.to_string() });
    printer.data(&deleted, |_| format!("{module} deleted"))?;
    Ok(Exit::Ok)
}
