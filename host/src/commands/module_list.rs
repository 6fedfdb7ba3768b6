//! `module list`.

use super::paging;
use crate::cli::module::PageArgs;
use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::text;
use cofferdam_api::types::{ModuleView, PageQuery};
use cofferdam_core::name::KindName;

/// How much of a list of kinds fits into a table.
const KINDS: usize = 60;

/// Lists modules, newest first.
pub(super) async fn run(page: PageArgs, client: &Client, printer: Printer) -> Result<Exit> {
    let query = |before, limit| PageQuery { before, limit };
    let modules: Vec<ModuleView> =
        paging::collect(client, printer, &["modules"], page.limit, query).await?;
    printer.data(&modules, |modules| {
        let rows = modules.iter().map(|module| {
            let kinds: Vec<_> = module.kinds.iter().map(KindName::as_str).collect();
            [
                module.name.to_string(),
                module.current.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
                match module.quarantined_at {
                    Some(at) => format!("quarantined since {}", text::time(at)),
                    None => "-".to_owned(),
                },
                module.versions.to_string(),
                text::time(module.created_at),
                text::cell(&kinds.join(", "), KINDS),
            ]
        });
        Printer::table(["module", "current", "state", "versions", "created", "kinds"], rows)
    })?;
    Ok(Exit::Ok)
}
