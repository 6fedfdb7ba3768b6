//! `module inspect`.

use super::local_file;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::printer::Printer;
use crate::text::{self, plain};
use crate::wire;
use cofferdam_core::module::Digest;
use cofferdam_sandbox::{Pooling, SandboxSettings};
use serde::Serialize;
use std::path::Path;

/// What a file is.
#[derive(Debug, Serialize)]
struct Report {
    digest: Digest,
    bytes: u64,
    world: &'static str,
    converted: bool,
    sdk_version: Option<String>,
    imports: Vec<String>,
    exports: Vec<String>,
}

/// Looks at a component. Nothing of it is compiled or run.
pub(super) fn run(file: &Path, printer: Printer) -> Result<Exit> {
    let bytes = local_file::component(file)?;
    // Nothing will run in it: one slot, and no pool that would have to be reserved.
    let sandbox = wire::sandbox(SandboxSettings {
        slots: 1,
        threads: 1,
        pooling: Pooling::Off,
        ..SandboxSettings::default()
    })?;
    let inspection = sandbox.inspect(&bytes).map_err(|reject| {
        let code = reject.code();
        let mut error = CommandError::hinted(Exit::Failed, &reject)
            .context(format!("`{}` cannot be a job", file.display()));
        error.code = Some(code.to_owned());
        error
    })?;
    let report = Report {
        digest: Digest::of(&inspection.component),
        bytes: inspection.component.len() as u64,
        world: inspection.world.as_str(),
        converted: inspection.converted,
        sdk_version: inspection.sdk_version,
        imports: inspection.imports,
        exports: inspection.exports,
    };
    printer.data(&report, render)?;
    Ok(Exit::Ok)
}

fn render(report: &Report) -> String {
    let what = match (report.world, report.converted) {
        ("command", _) => "a program (wasi:cli/run)",
        (_, true) => "a handler, made a component from a core module",
        (_, false) => "a handler",
    };
    text::pairs(&[
        ("world", what.to_owned()),
        (
            "built for",
            report
                .sdk_version
                .as_deref()
                .map_or_else(|| "not said".to_owned(), |v| format!("cofferdam:job@{}", plain(v))),
        ),
        ("size", text::bytes(report.bytes)),
        ("digest", report.digest.to_string()),
        ("imports", plain(&report.imports.join("\n"))),
        ("exports", plain(&report.exports.join("\n"))),
    ])
}
