//! What Cargo runs in place of a test executable: says whose tests these are, and becomes it.
//!
//! Cargo names a test executable on standard error and without its package, and what children of
//! tests write there may come in between. Said here, it stands on standard output, ahead of the
//! lines of the tests.

use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How the line starts that says whose tests follow.
pub(super) const HERE: &str = "xtask: tests of ";

/// The target of a package's own library, and of its own executable. No file in `tests` is called
/// like that.
pub(crate) const LIBRARY: &str = "lib";
pub(crate) const EXECUTABLE: &str = "bin";

/// What Cargo passes.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The test executable.
    executable: PathBuf,
    /// Its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Returns only when the executable cannot be run.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let package = std::env::var_os("CARGO_PKG_NAME").context("only Cargo calls this")?;
    let package = package.to_string_lossy();
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").context("only Cargo calls this")?;
    let library = Path::new(&folder).join("src/lib.rs").exists();
    let stem = arguments.executable.file_stem().unwrap_or_default().to_string_lossy();
    let target = target(&stem, &package, library);
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "\n{HERE}{package}::{target}")?;
    stdout.flush()?;
    drop(stdout);
    let error = Command::new(&arguments.executable).args(&arguments.arguments).exec();
    bail!("cannot run {}: {error}", arguments.executable.display());
}

/// The target that a test executable was made of: `store-0123456789abcdef` is of `tests/store`.
fn target(stem: &str, package: &str, library: bool) -> String {
    let name = stem.rsplit_once('-').map_or(stem, |(name, _)| name);
    let own = name == package.replace('-', "_");
    match (own, library) {
        (false, _) => name.to_owned(),
        (true, true) => LIBRARY.to_owned(),
        (true, false) => EXECUTABLE.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_are_told_apart_by_their_names() {
        let of = |stem, library| target(stem, "cofferdam-store", library);
        assert_eq!(of("store-2f0c1b7c9a3d4e5f", true), "store");
        assert_eq!(of("cofferdam_store-2f0c1b7c9a3d4e5f", true), "lib");
        assert_eq!(target("xtask-2f0c1b7c9a3d4e5f", "xtask", false), "bin");
    }
}
