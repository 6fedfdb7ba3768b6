//! From the command line to an exit code.

use crate::cli::Cli;
use crate::commands;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::usage;
use clap::Parser as _;
use std::ffi::OsString;

/// Runs one command line.
pub(crate) fn run(args: &[OsString]) -> Exit {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return answer(&error, args),
    };
    let printer = Printer::new(&cli.global);
    match commands::run(cli, printer) {
        Ok(exit) => exit,
        Err(error) => {
            printer.error(&error);
            error.exit
        }
    }
}

/// A command line that runs nothing: a question for the help, or a mistake.
fn answer(error: &clap::Error, args: &[OsString]) -> Exit {
    let printer = Printer::new(&usage::guess_global(args));
    if !usage::is_answer(error) {
        printer.error(&usage::error(error, args));
        return Exit::Usage;
    }
    match printer.lines(&error.render().ansi().to_string()) {
        Ok(()) => Exit::Ok,
        Err(error) => error.exit,
    }
}
