//! Counts words: an ordinary program, with nothing in it of the platform that runs it.
//!
//! Built for `wasm32-wasip2` it is a command job: the payload is its standard input, and standard
//! output is the job's output.

mod arguments;
mod count;
mod exit;

use arguments::Arguments;
use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;

/// `EX_DATAERR` of `sysexits.h`: the input is no good, and will be no better next time.
const BAD_DATA: u8 = 65;
/// `EX_IOERR`: worth another try.
const IO_ERROR: u8 = 74;
/// `EX_CONFIG`: the arguments are no good.
const BAD_ARGUMENTS: u8 = 78;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { status, message }) => {
            // Where standard error is closed there is nobody left to tell.
            let _ = writeln!(io::stderr(), "wordcount: {message}");
            exit::with(status)
        }
    }
}

/// What to say, and the status to end with.
struct Failure {
    status: u8,
    message: String,
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self { status: IO_ERROR, message: error.to_string() }
    }
}

fn run() -> Result<(), Failure> {
    let Arguments { top } = Arguments::parse(std::env::args().skip(1))
        .map_err(|message| Failure { status: BAD_ARGUMENTS, message })?;
    let mut input = Vec::new();
    io::stdin().lock().read_to_end(&mut input)?;
    let text = std::str::from_utf8(&input).map_err(|error| Failure {
        status: BAD_DATA,
        message: format!("the input is not UTF-8 text: {error}"),
    })?;
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, &count::count(text, top)).map_err(io::Error::from)?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}
