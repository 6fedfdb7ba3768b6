//! `cargo xtask setup`: brings what is missing, and says what it does.

use crate::shell;
use anyhow::{Context, Result, bail};
use cofferdam_localpg::find_binaries;
use std::path::Path;
use std::process::Command;

/// Handlers are built for the first; the second makes core modules that carry their interface,
/// which a push turns into components.
const TARGETS: [&str; 2] = ["wasm32-wasip2", "wasm32-unknown-unknown"];

/// Brings what is missing. What is there is left alone.
pub(crate) fn run() -> Result<()> {
    for target in TARGETS {
        ensure_target(target)?;
    }
    ensure_postgres()
}

fn ensure_target(target: &str) -> Result<()> {
    if has_target(target)? {
        shell::say(&format!("Rust target {target} is there"));
        return Ok(());
    }
    shell::run(Command::new("rustup").args(["target", "add", target])).with_context(|| {
        format!("the standard library for {target} is missing; without rustup, install the package of your distribution that has it")
    })
}

/// Whether the compiler has a standard library for the target, whoever installed it.
fn has_target(target: &str) -> Result<bool> {
    let folder =
        shell::read(Command::new("rustc").args(["--print", "target-libdir", "--target", target]))?;
    Ok(Path::new(folder.trim()).is_dir())
}

fn ensure_postgres() -> Result<()> {
    let missing = match find_binaries() {
        Ok(found) => {
            shell::say(&format!("PostgreSQL {} is in {}", found.version(), found.dir().display()));
            return Ok(());
        }
        Err(error) => error,
    };
    shell::say(&missing.to_string());
    if !can_install()? {
        let hint = missing.hint().unwrap_or_default();
        bail!("{missing}\n\nhint: {hint}");
    }
    shell::say("installing Debian's package `postgresql`");
    shell::run(apt().arg("update"))?;
    shell::run(apt().args(["install", "--yes", "--no-install-recommends", "postgresql"]))?;
    let found = find_binaries().context("the packages are installed, but hold no server")?;
    shell::say(&format!("PostgreSQL {} is in {}", found.version(), found.dir().display()));
    Ok(())
}

/// Only root installs packages, and only where there is Debian's tool for it.
fn can_install() -> Result<bool> {
    let root = shell::read(Command::new("id").arg("-u"))?.trim() == "0";
    Ok(root && Path::new("/usr/bin/apt-get").exists())
}

fn apt() -> Command {
    let mut command = Command::new("apt-get");
    // The package would start a server of its own, which nobody asked for: in this run level it
    // does not.
    command.env("RUNLEVEL", "1").env("DEBIAN_FRONTEND", "noninteractive").arg("--quiet");
    command
}
