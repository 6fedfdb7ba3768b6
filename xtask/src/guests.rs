//! The example handlers, built for the sandbox.

use crate::{shell, workspace};
use anyhow::Result;
use std::path::PathBuf;

/// The first choice for handlers: what the compiler makes is a component.
const TARGET: &str = "wasm32-wasip2";

/// The second choice: a core module that the host makes a component of when it is pushed.
const CORE_TARGET: &str = "wasm32-unknown-unknown";

/// The packages that are guests.
pub(crate) const PACKAGES: [&str; 5] =
    ["csv-report", "markdown", "misbehave", "thumbnail", "wordcount"];

/// Builds all of them. What is up to date is left alone.
pub(crate) fn build() -> Result<()> {
    build_for(TARGET, &PACKAGES)
}

/// Builds one of them for the target whose output is a core module with component metadata.
pub(crate) fn build_core_module() -> Result<()> {
    build_for(CORE_TARGET, &["markdown"])
}

fn build_for(target: &str, packages: &[&str]) -> Result<()> {
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--profile", "guest", "--target", target]);
    for package in packages {
        cargo.args(["--package", package]);
    }
    shell::run(&mut cargo)
}

/// Where they are built into.
pub(crate) fn folder() -> PathBuf {
    workspace::target_dir().join(TARGET).join("guest")
}

/// The component that a package was built into.
pub(crate) fn component(package: &str) -> PathBuf {
    // A library has underscores in its file name where its package has hyphens.
    folder().join(format!("{}.wasm", package.replace('-', "_")))
}
