//! `module push`.

use super::local_file;
use crate::cli::module::PushArgs;
use crate::client::Client;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::printer::Printer;
use crate::text;
use bytes::Bytes;
use cofferdam_api::types::{ModuleVersion, PublishQuery};
use cofferdam_core::manifest::Manifest;
use cofferdam_core::module::ModuleRef;
use futures_util::stream;
use indicatif::ProgressBar;
use reqwest::Body;
use reqwest::multipart::{Form, Part};
use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

/// How much is sent at once, in bytes: the step of the progress bar.
const CHUNK: usize = 64 * 1024;

/// Uploads a component and waits until the server has accepted or refused it.
pub(super) async fn run(args: &PushArgs, client: &Client, printer: Printer) -> Result<Exit> {
    let component = local_file::component(&args.file)?;
    let found = local_file::manifest(args.manifest.as_deref(), &args.file)?;
    if let Some((path, _)) = &found {
        printer.note(&format!("Manifest: {}", path.display()));
    }
    let manifest = found.map(|(_, manifest)| manifest).unwrap_or_default();
    let query = query(args, &manifest)?;

    let bar = printer.byte_bar(component.len() as u64, "uploading");
    let form = form(&manifest, component, &bar)?;
    let pushed = client.upload::<ModuleVersion>(&["modules"], &query, form).await;
    bar.finish_and_clear();
    let pushed = pushed
        .map_err(|error| error.context(format!("`{}` was not pushed", args.file.display())))?;

    printer.note(&summary(&pushed));
    printer.data(&pushed, |pushed| format!("{}@{}", pushed.module, pushed.version))?;
    Ok(Exit::Ok)
}

fn query(args: &PushArgs, manifest: &Manifest) -> Result<PublishQuery> {
    let (name, version) = match args.name.clone() {
        Some(ModuleRef { name, version, .. }) => (Some(name), version),
        None => (None, None),
    };
    if name.is_none() && manifest.module.name.is_none() {
        return Err(CommandError::usage("the module has no name").hint(format!(
            "use --name {}, or set `name` under [module] in cofferdam.toml",
            name_of(&args.file)
        )));
    }
    Ok(PublishQuery { name, version, activate: Some(!args.no_activate) })
}

/// A name that suits a file, for the hint.
fn name_of(file: &Path) -> String {
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let name = stem.to_lowercase().replace('_', "-");
    match cofferdam_core::name::ModuleName::new(name) {
        Ok(name) => name.to_string(),
        Err(_) => "NAME".to_owned(),
    }
}

fn form(manifest: &Manifest, component: Vec<u8>, bar: &ProgressBar) -> Result<Form> {
    let broken =
        |error: reqwest::Error| CommandError::failed("cannot make the request").caused_by(&error);
    let manifest = serde_json::to_vec(manifest).map_err(std::io::Error::from)?;
    let manifest = Part::bytes(manifest).mime_str("application/json").map_err(broken)?;
    let size = component.len() as u64;
    let part = Part::stream_with_length(counted(component, bar.clone()), size)
        .file_name("component.wasm")
        .mime_str("application/wasm")
        .map_err(broken)?;
    // The server reads the parts as they come and must know the manifest first.
    Ok(Form::new().part("manifest", manifest).part("component", part))
}

/// The bytes as a body that moves the bar, and turns it into a spinner when all are sent.
fn counted(component: Vec<u8>, bar: ProgressBar) -> Body {
    Body::wrap_stream(stream::unfold(Bytes::from(component), move |mut rest| {
        let bar = bar.clone();
        async move {
            if rest.is_empty() {
                Printer::spin(&bar, "the server checks and compiles it");
                return None;
            }
            let chunk = rest.split_to(CHUNK.min(rest.len()));
            bar.inc(chunk.len() as u64);
            Some((Ok::<_, Infallible>(chunk), rest))
        }
    }))
}

fn summary(pushed: &ModuleVersion) -> String {
    let kinds: Vec<_> = pushed.kinds.iter().map(|kind| kind.name.as_str()).collect();
    let kinds = kinds.join(", ");
    let size = text::bytes(pushed.bytes);
    let current = if pushed.active { "current" } else { "not current" };
    if pushed.created {
        let compiled = text::took(Duration::from_millis(pushed.compile_ms));
        format!("validated · compiled {compiled} · stored {size} · {current} · handles {kinds}")
    } else {
        format!("the same {size} were there already · {current} · handles {kinds}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_suggest_names() {
        assert_eq!(name_of(Path::new("target/csv_report.wasm")), "csv-report");
        assert_eq!(name_of(Path::new("1.wasm")), "NAME");
    }
}
