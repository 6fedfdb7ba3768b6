//! Kinds that say too much.

use cofferdam_guest::{Context, Error, handler};
use std::io::{self, Write as _};

/// Returns 9 MiB, more than the 8 MiB that an output may have.
#[handler(memory = "64MiB")]
pub fn flood_output(_: &Context) -> Result<Vec<u8>, Error> {
    Ok(vec![b'x'; 9 << 20])
}

/// Logs a line of 1 KiB for ever.
#[handler(deadline = "1m")]
pub fn flood_log(ctx: &Context) -> Result<(), Error> {
    let line = "log ".repeat(256);
    loop {
        ctx.info(&line);
    }
}

/// Writes lines of 1 KiB to standard output for ever.
#[handler(deadline = "1m")]
pub fn flood_stdout(_: &Context) -> Result<(), Error> {
    let line = format!("{}\n", "out ".repeat(255));
    let mut out = io::stdout().lock();
    loop {
        out.write_all(line.as_bytes())?;
    }
}
