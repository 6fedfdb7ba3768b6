//! A kind that looks for a way out.

use cofferdam_guest::{Context, Error, handler};
use serde::{Deserialize, Serialize};
use std::{env, fs};

/// What `look-around` found: in a sandbox without grants, two empty lists and an error.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surroundings {
    /// The names of the environment variables.
    pub env: Vec<String>,
    /// The program's arguments.
    pub args: Vec<String>,
    /// How many entries the root folder has, or why it cannot be read.
    pub files: Result<usize, String>,
}

/// Looks for environment variables, arguments and files. A handler that looked for a network would
/// not get this far: its import of `wasi:sockets` is refused when it is pushed.
#[handler]
pub fn look_around(_: &Context) -> Result<Surroundings, Error> {
    Ok(Surroundings {
        env: env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect(),
        args: env::args_os().map(|text| text.to_string_lossy().into_owned()).collect(),
        files: fs::read_dir("/").map(Iterator::count).map_err(|error| error.to_string()),
    })
}
