//! Kinds that end in a trap.

use cofferdam_guest::{Context, Error, handler};
use std::hint::black_box;

/// Panics. The message must reach the job's error history.
#[handler]
#[expect(clippy::panic, clippy::missing_panics_doc, reason = "the purpose of the kind")]
pub fn panic(ctx: &Context) -> Result<(), Error> {
    panic!("a handler's own panic, in attempt {}", ctx.attempt());
}

/// Divides by zero, which Rust turns into a panic.
#[handler]
pub fn divide(_: &Context) -> Result<u32, Error> {
    Ok(1 / black_box(0))
}

/// Aborts without a word: an `unreachable` instruction.
#[handler]
pub fn abort(_: &Context) -> Result<(), Error> {
    std::process::abort();
}

/// Ends the program with status 3, which is not a handler's to do.
#[handler]
#[expect(clippy::exit, reason = "the purpose of the kind")]
pub fn exit(_: &Context) -> Result<(), Error> {
    std::process::exit(3);
}
