//! Running the server's programs.

use crate::account::Account;
use crate::error::ClusterError;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Gives a command a known environment. Variables such as `PGPORT` or `LC_MESSAGES` of whoever
/// started us would change what the programs do and the messages that we read.
pub(crate) fn plain(command: &mut Command) -> &mut Command {
    command.env_clear().env("LC_ALL", "C").env("PGCONNECT_TIMEOUT", "10").stdin(Stdio::null());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
}

/// A command that runs as `account`, in a folder that every account can enter.
pub(crate) fn command(program: &Path, account: &Account) -> Command {
    let mut command = Command::new(program);
    plain(&mut command).current_dir("/");
    if let Account::Other { uid, gid, .. } = account {
        // The standard library also drops the supplementary groups when root sets a user.
        command.uid(*uid).gid(*gid);
    }
    command
}

/// Runs a command to its end. What it wrote to its standard error is in the error.
pub(crate) fn run(command: &mut Command) -> Result<(), ClusterError> {
    let program = || command_name(command);
    let name = program();
    let output =
        command.output().map_err(|source| ClusterError::Spawn { program: name.clone(), source })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(ClusterError::Failed { program: name, status: output.status, said })
}

fn command_name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}
