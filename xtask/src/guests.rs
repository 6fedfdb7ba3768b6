//! The example handlers, built for the sandbox.

use crate::{shell, workspace};
use anyhow::Result;
use std::path::PathBuf;

/// The first choice for handlers: what the compiler makes is a component.
const TARGET: &str = "wasm32-wasip2";

/// The packages that are guests.
const PACKAGES: [&str; 5] = ["csv-report", "markdown", "misbehave", "thumbnail", "wordcount"];

/// Builds all of them. What is up to date is left alone.
pub(crate) fn build() -> Result<()> {
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--profile", "guest", "--target", TARGET]);
    for package in PACKAGES {
        cargo.args(["--package", package]);
    }
    shell::run(&mut cargo)
}

/// Where they are built into.
pub(crate) fn folder() -> PathBuf {
    workspace::target_dir().join(TARGET).join("guest")
}
