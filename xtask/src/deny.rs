//! `cargo xtask deny`: what the dependencies are, where they come from, on what terms.

use crate::{shell, workspace};
use anyhow::{Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One version for everybody, so that a check means the same everywhere.
const VERSION: &str = "0.20.2";

/// Checks bans, licences and sources, which need nothing but the checkout; then advisories, whose
/// database has to be fetched.
pub(crate) fn run() -> Result<()> {
    let tool = ensure_tool()?;
    shell::run(deny(&tool).args(["check", "bans", "licenses", "sources"]))?;

    shell::say("fetching the advisory database");
    let fetched = deny(&tool).args(["fetch", "db"]).stdout(Stdio::null()).status()?;
    if !fetched.success() {
        shell::say("ADVISORIES WERE NOT CHECKED: the database cannot be fetched from here");
        return Ok(());
    }
    shell::run(deny(&tool).args(["check", "--disable-fetch", "advisories"]))
}

fn deny(tool: &Path) -> Command {
    let mut command = Command::new(tool);
    command.current_dir(workspace::root()).args(["--all-features"]);
    command
}

/// The tool, compiled on first use into the target folder, which takes some minutes.
fn ensure_tool() -> Result<PathBuf> {
    let folder = workspace::target_dir().join("tools");
    let tool = folder.join("bin/cargo-deny");
    if !is_current(&tool) {
        shell::say(&format!("installing cargo-deny {VERSION} into {}", folder.display()));
        let mut cargo = workspace::cargo();
        cargo.args(["install", "--locked", "--root"]).arg(&folder);
        shell::run(cargo.arg(format!("cargo-deny@{VERSION}")))?;
        ensure!(is_current(&tool), "{} is not cargo-deny {VERSION}", tool.display());
    }
    Ok(tool)
}

fn is_current(tool: &Path) -> bool {
    Command::new(tool)
        .arg("--version")
        .output()
        .is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim().ends_with(VERSION))
}
