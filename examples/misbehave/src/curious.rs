//! A kind that looks for a way out.

use cofferdam_guest::{Context, Error, handler};
use serde::{Deserialize, Serialize};
use std::net::TcpStream;
use std::{env, fs};

/// What `look-around` found: in a sandbox without grants, two empty lists and two errors.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surroundings {
    /// The names of the environment variables.
    pub env: Vec<String>,
    /// The program's arguments.
    pub args: Vec<String>,
    /// How many entries the root folder has, or why it cannot be read.
    pub files: Result<usize, String>,
    /// Whether the address that it was given accepts a connection, or why it does not.
    pub network: Result<(), String>,
}

/// Looks for environment variables, arguments, files, and a network: input is an address to
/// connect to, such as `"127.0.0.1:5432"`.
#[handler]
pub fn look_around(_: &Context, address: String) -> Result<Surroundings, Error> {
    Ok(Surroundings {
        env: env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect(),
        args: env::args_os().map(|text| text.to_string_lossy().into_owned()).collect(),
        files: fs::read_dir("/").map(Iterator::count).map_err(|error| error.to_string()),
        network: TcpStream::connect(address).map(drop).map_err(|error| error.to_string()),
    })
}
