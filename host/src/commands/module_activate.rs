//! `module activate`.

use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use cofferdam_api::types::ModuleDetail;
use cofferdam_core::module::VersionName;
use cofferdam_core::name::ModuleName;

/// Makes a version current.
pub(super) async fn run(
    name: &ModuleName,
    version: &VersionName,
    client: &Client,
    printer: Printer,
) -> Result<Exit> {
    let path = ["modules", name.as_str(), "versions", version.as_str(), "activate"];
    let module: ModuleDetail = client.act(&path).await?;
    printer.data(&module, |_| format!("{name}@{version} is current"))?;
    Ok(Exit::Ok)
}
