//! `cargo xtask openapi`: writes the document of the HTTP API anew.

use crate::{shell, workspace};
use anyhow::Result;

/// The document is a snapshot that a test compares; here the same test writes it.
pub(crate) fn run() -> Result<()> {
    let mut cargo = workspace::cargo();
    // With the features of the whole workspace: with those of one package alone everything would be
    // compiled anew.
    cargo.args(["test", "--workspace", "--test", "openapi"]);
    shell::run(cargo.env("UPDATE_SNAPSHOTS", "1"))
}
