//! `compile-component`: compiles one component on behalf of a server or worker, in this process
//! alone.

use crate::error::{CommandError, Result};
use crate::exit::Exit;
use cofferdam_sandbox::{CompilerServeError, serve_compiler};
use std::io::{self, IsTerminal as _};

/// Compiles what it is given. Before anything else that opens a file: the process confines itself
/// first.
pub(super) fn run(parent: Option<u32>) -> Result<Exit> {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let by_hand = stdin.is_terminal() || stdout.is_terminal();
    let Some(parent) = parent.filter(|_| !by_hand) else {
        return Err(not_for_people());
    };
    match serve_compiler(stdin, stdout, parent) {
        Ok(()) => Ok(Exit::Ok),
        Err(error @ CompilerServeError::Orphan { .. }) => Err(not_for_people().caused_by(&error)),
        Err(error) => {
            Err(CommandError::failed("the component was not compiled").caused_by(&error))
        }
    }
}

fn not_for_people() -> CommandError {
    CommandError::usage("`compile-component` is not meant for people: servers and workers run it")
        .hint("`cofferdam module push FILE` has a component compiled and checked")
}
