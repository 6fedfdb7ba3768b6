//! Kinds that wait inside of a host call, where no guest code runs that could be stopped.

use cofferdam_guest::{Context, Error, handler};
use serde::Deserialize;
use std::thread;
use std::time::Duration;

/// Sleeps for an hour.
#[handler(deadline = "2s")]
pub fn sleep(_: &Context) -> Result<(), Error> {
    thread::sleep(Duration::from_hours(1));
    Ok(())
}

/// The input of `slow`.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Slow {
    /// How long to sleep, in milliseconds.
    pub ms: u64,
}

/// Sleeps for as long as its input says, then completes.
#[handler(schema = r#"{
    "type": "object",
    "required": ["ms"],
    "properties": { "ms": { "type": "integer", "minimum": 0 } }
}"#)]
pub fn slow(_: &Context, input: Slow) -> Result<(), Error> {
    thread::sleep(Duration::from_millis(input.ms));
    Ok(())
}
