//! `module lift`.

use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use cofferdam_api::types::VersionDetail;
use cofferdam_core::module::VersionName;
use cofferdam_core::name::ModuleName;

/// Lifts the quarantine of a version.
pub(super) async fn run(
    name: &ModuleName,
    version: &VersionName,
    client: &Client,
    printer: Printer,
) -> Result<Exit> {
    let path = ["modules", name.as_str(), "versions", version.as_str(), "lift"];
    let lifted: VersionDetail = client.act(&path).await?;
    printer.data(&lifted, |_| format!("{name}@{version} is out of quarantine"))?;
    Ok(Exit::Ok)
}
