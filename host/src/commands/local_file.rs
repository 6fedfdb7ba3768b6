//! Components and manifests on this machine.

use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::suggest;
use cofferdam_core::limits::MAX_COMPONENT;
use cofferdam_core::manifest::Manifest;
use cofferdam_core::units::format_size;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The name of a manifest that lies beside a component.
const MANIFEST: &str = "cofferdam.toml";

/// Reads a component, at most [`MAX_COMPONENT`] bytes: what is larger would be refused anyway,
/// and a device or a log file given by mistake must not fill the memory.
pub(super) fn component(path: &Path) -> Result<Vec<u8>> {
    let failed = |error| CommandError::file(Exit::Failed, "read", path, &error);
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(MAX_COMPONENT + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_COMPONENT {
        let max = format_size(MAX_COMPONENT);
        return Err(CommandError::failed(format!(
            "`{}` is larger than the {max} that a component may be",
            path.display()
        ))
        .hint("build it in release mode and strip its debug sections"));
    }
    Ok(bytes)
}

/// The manifest of a component: the one that is named, or `cofferdam.toml` beside it, or none.
pub(super) fn manifest(named: Option<&Path>, file: &Path) -> Result<Option<(PathBuf, Manifest)>> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => match file.parent().map(|folder| folder.join(MANIFEST)) {
            Some(path) if path.is_file() => path,
            _ => return Ok(None),
        },
    };
    let text = fs::read_to_string(&path)
        .map_err(|error| CommandError::file(Exit::Failed, "read the manifest", &path, &error))?;
    match toml::from_str(&text) {
        Ok(manifest) => Ok(Some((path, manifest))),
        Err(error) => Err(bad_manifest(&path, &error)),
    }
}

fn bad_manifest(path: &Path, error: &toml::de::Error) -> CommandError {
    let refused = CommandError::failed(format!("the manifest `{}` is not usable", path.display()))
        .cause(error.to_string().trim_end().to_owned());
    match did_you_mean(error.message()) {
        Some(word) => refused.hint(format!("did you mean `{word}`?")),
        None => refused,
    }
}

/// The nearest of the fields that an "unknown field" message lists.
fn did_you_mean(message: &str) -> Option<&str> {
    let mut quoted = message.strip_prefix("unknown field ")?.split('`').skip(1).step_by(2);
    let unknown = quoted.next()?;
    suggest::nearest(unknown, quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(MANIFEST), text).unwrap();
        let file = folder.path().join("module.wasm");
        (folder, file)
    }

    #[test]
    fn the_manifest_lies_beside_the_component() {
        let (_folder, file) = written("[module]\nname = \"images\"");
        let (_, found) = manifest(None, &file).unwrap().unwrap();
        assert_eq!(found.module.name.unwrap().as_str(), "images");
        let elsewhere = tempfile::tempdir().unwrap();
        assert_eq!(manifest(None, &elsewhere.path().join("module.wasm")).unwrap(), None);
    }

    #[test]
    fn misspelt_keys_are_refused_with_the_nearest() {
        let (_folder, file) = written("[limits]\nmemroy = \"64MiB\"");
        let error = manifest(None, &file).unwrap_err();
        assert_eq!(error.hints, ["did you mean `memory`?"]);
        assert!(error.causes[0].contains("memroy"), "{error:?}");
    }
}
