//! `completion`.

use crate::cli::Cli;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use clap::CommandFactory as _;
use clap_complete::Shell;

/// Prints the script for a shell.
pub(super) fn run(shell: Shell) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "cofferdam", &mut script);
    Printer::bytes(&script)?;
    Ok(Exit::Ok)
}
