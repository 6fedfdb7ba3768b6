//! Kinds that wait inside of a host call, where no guest code runs that could be stopped.

use cofferdam_guest::{Context, Error, Resumption, handler};
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

/// The input of `await-answer` and `doze`.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Patience {
    /// How long to wait, in milliseconds.
    pub ms: u64,
}

/// Puts its job aside until somebody calls back, and returns what they said, or `timed out`. The
/// token is in the log.
#[handler]
pub fn await_answer(ctx: &Context, input: Patience) -> Result<Vec<u8>, Error> {
    match ctx.resumed() {
        Some(Resumption::CalledBack(answer)) => Ok(answer),
        Some(Resumption::TimedOut) => Ok(b"timed out".to_vec()),
        None => {
            let token = ctx.create_callback();
            ctx.info(&token);
            Err(ctx.wait_for(&token, Duration::from_millis(input.ms)))
        }
    }
}

/// Puts its job aside for a time, and fails once after that. The second attempt knows that the job
/// has slept, too, and returns its number.
#[handler]
pub fn doze(ctx: &Context, input: Patience) -> Result<u32, Error> {
    match ctx.resumed() {
        None => Err(ctx.sleep(Duration::from_millis(input.ms))),
        Some(_) if ctx.attempt() == 1 => Err(Error::retry("still sleepy")),
        Some(_) => Ok(ctx.attempt()),
    }
}
