//! Kinds that use up what an attempt may use.

use cofferdam_guest::{Context, Error, handler};
use std::hint::black_box;

/// Spins until the deadline: its fuel lasts longer than that.
#[handler(deadline = "2s", fuel = 10_000_000_000_000)]
pub fn spin(_: &Context) -> Result<(), Error> {
    let mut turns: u64 = 0;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

/// Spins until its small fuel budget is used up.
#[handler(fuel = 1_000_000)]
pub fn fuel(ctx: &Context) -> Result<(), Error> {
    spin(ctx)
}

/// Allocates memory, and touches it, until there is no more.
#[handler(memory = "64MiB")]
pub fn allocate(_: &Context) -> Result<(), Error> {
    let mut hoard = Vec::new();
    loop {
        hoard.push(black_box(vec![1_u8; 1 << 20]));
    }
}

/// Recurses until the call stack is used up.
#[handler]
pub fn recurse(_: &Context) -> Result<u64, Error> {
    Ok(deeper(black_box(0)))
}

/// The number it returns is never known before, so it cannot be turned into a loop.
fn deeper(depth: u64) -> u64 {
    if black_box(depth) == u64::MAX { depth } else { black_box(deeper(depth + 1)) ^ depth }
}
