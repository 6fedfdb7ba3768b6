//! `module show`.

use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::text::{self, plain};
use cofferdam_api::types::{KindView, ModuleDetail, VersionDetail};
use cofferdam_core::module::ModuleRef;
use cofferdam_core::units::{format_duration, format_size};
use std::fmt::Write as _;

/// Shows a module, or one version of it.
pub(super) async fn run(module: &ModuleRef, client: &Client, printer: Printer) -> Result<Exit> {
    let name = module.name.as_str();
    match &module.version {
        None => {
            let detail: ModuleDetail = client.get(&["modules", name], &()).await?;
            printer.data(&detail, render_module)?;
        }
        Some(version) => {
            let path = ["modules", name, "versions", version.as_str()];
            let detail: VersionDetail = client.get(&path, &()).await?;
            printer.data(&detail, render_version)?;
        }
    }
    Ok(Exit::Ok)
}

/// A module for people.
pub(super) fn render_module(module: &ModuleDetail) -> String {
    let current = module.current.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
    let mut shown = text::pairs(&[("module", module.name.to_string()), ("current", current)]);
    let rows = module.versions.iter().map(|version| {
        let state = match (version.quarantined_at, version.active) {
            (Some(at), _) => format!("quarantined since {}", text::time(at)),
            (None, true) => "current".to_owned(),
            (None, false) => "-".to_owned(),
        };
        [
            version.version.to_string(),
            version.digest.short(),
            version.world.as_str().to_owned(),
            text::bytes(version.bytes),
            text::time(version.created_at),
            state,
        ]
    });
    shown.push('\n');
    shown.push_str(&Printer::table(
        ["version", "digest", "world", "size", "created", "state"],
        rows,
    ));
    shown.push('\n');
    shown.push_str(&kinds(&module.kinds));
    shown
}

fn render_version(detail: &VersionDetail) -> String {
    let version = &detail.version;
    let mut rows = vec![
        ("module", format!("{}@{}", detail.module, version.version)),
        ("digest", version.digest.to_string()),
        ("world", version.world.as_str().to_owned()),
        ("size", text::bytes(version.bytes)),
        ("created", text::time(version.created_at)),
        ("current", if version.active { "yes" } else { "no" }.to_owned()),
    ];
    rows.extend(version.quarantined_at.map(|at| ("quarantined", text::time(at))));
    rows.extend(version.quarantine_reason.as_deref().map(|reason| ("because", plain(reason))));
    rows.push(("imports", plain(&detail.imports.join("\n"))));
    let env: Vec<_> = detail.manifest.grants.env.keys().map(|name| plain(name)).collect();
    if !env.is_empty() {
        rows.push(("variables", env.join(", ")));
    }
    let mut shown = text::pairs(&rows);
    shown.push_str(&kinds(&detail.kinds));
    shown
}

/// The kinds, each with its options and its schema.
fn kinds(kinds: &[KindView]) -> String {
    let mut shown = String::new();
    for kind in kinds {
        let _ = writeln!(shown, "\nkind {}", kind.name);
        let mut rows = Vec::new();
        if !kind.description.is_empty() {
            rows.push(("about", plain(&kind.description)));
        }
        rows.extend(kind.queue.as_ref().map(|queue| ("queue", queue.to_string())));
        rows.extend(kind.deadline.map(|deadline| ("deadline", format_duration(deadline))));
        rows.extend(kind.memory_bytes.map(|bytes| ("memory", format_size(bytes))));
        rows.extend(kind.fuel.map(|fuel| ("fuel", text::grouped(fuel))));
        rows.extend(kind.max_attempts.map(|most| ("attempts", most.to_string())));
        if let Some(schema) = &kind.input_schema {
            rows.push(("input", plain(&format!("{schema:#}"))));
        }
        for line in text::pairs(&rows).lines() {
            let _ = writeln!(shown, "  {line}");
        }
    }
    shown
}
