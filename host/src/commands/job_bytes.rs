//! `job output` and `job input`.

use super::job_end::json_or_base64;
use crate::cli::job::BytesArgs;
use crate::client::Client;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::printer::Printer;
use crate::text;

/// Prints bytes of a job as they are, or writes them to a file.
pub(super) async fn run(
    args: &BytesArgs,
    what: &'static str,
    client: &Client,
    printer: Printer,
) -> Result<Exit> {
    let bytes = client.bytes(&["jobs", &args.id.to_string(), what]).await?;
    if let Some(path) = &args.out {
        std::fs::write(path, &bytes)
            .map_err(|error| CommandError::file(Exit::Failed, "write", path, &error))?;
        let shown = path.display();
        printer.note(&format!("Wrote {} to {shown}.", text::bytes(bytes.len() as u64)));
        return Ok(Exit::Ok);
    }
    if printer.is_json() {
        let (json, base64) = json_or_base64(&bytes);
        let object = match base64 {
            Some(text) => serde_json::json!({ "id": args.id, format!("{what}_base64"): text }),
            None => serde_json::json!({ "id": args.id, what: json }),
        };
        Printer::object(&object)?;
    } else {
        Printer::bytes(&bytes)?;
    }
    Ok(Exit::Ok)
}
