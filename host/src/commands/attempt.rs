//! `attempt`: one attempt on behalf of a worker, in this process alone.

use crate::error::{CommandError, Result};
use crate::exit::Exit;
use cofferdam_sandbox::apart::{self, ServeError};
use std::io::{self, IsTerminal as _};

/// Runs the attempt that the worker gives it. Before anything else that opens a file: the process
/// confines itself first.
pub(super) fn run(parent: Option<u32>) -> Result<Exit> {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let by_hand = stdin.is_terminal() || stdout.is_terminal();
    let Some(parent) = parent.filter(|_| !by_hand) else {
        return Err(not_for_people());
    };
    match apart::serve(stdin, stdout, parent) {
        Ok(()) => Ok(Exit::Ok),
        Err(error @ ServeError::Orphan { .. }) => Err(not_for_people().caused_by(&error)),
        Err(error) => Err(CommandError::failed("the attempt was not served").caused_by(&error)),
    }
}

fn not_for_people() -> CommandError {
    CommandError::usage("`attempt` is not meant for people: workers run it")
        .hint("`cofferdam run FILE` runs a module once, here")
}
