//! Kinds that answer in an orderly way, if not always with success.

use cofferdam_guest::{Context, Error, handler};
use serde::Deserialize;
use std::time::{Duration, SystemTime};

/// Returns its input. The least that a job can do.
#[handler]
pub fn echo(_: &Context, input: Vec<u8>) -> Result<Vec<u8>, Error> {
    Ok(input)
}

/// Returns the clock as it is when the handler starts, in microseconds since 1970-01-01 UTC. What
/// measures how long a job waits runs this.
#[handler]
pub fn started_at(_: &Context) -> Result<u64, Error> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(u64::try_from(since.as_micros())?)
}

/// Fails in every attempt with an error that asks for another.
#[handler]
pub fn error(ctx: &Context) -> Result<(), Error> {
    Err(Error::retry(format!("attempt {} failed, as all do", ctx.attempt())).with_code("flaky"))
}

/// Fails in every attempt and names the delay until the next: one second.
#[handler]
pub fn retry_after(_: &Context) -> Result<(), Error> {
    Err(Error::retry_after(Duration::from_secs(1), "try again in a second").with_code("busy"))
}

/// Fails for good.
#[handler]
pub fn permanent(_: &Context) -> Result<(), Error> {
    Err(Error::permanent("this can never work").with_code("hopeless"))
}

/// Asks to run a second later the first time, and completes the second time.
///
/// A snooze is not counted as an attempt, so it is a checkpoint that tells the two apart.
#[handler]
pub fn snooze(ctx: &Context) -> Result<Vec<u8>, Error> {
    if ctx.last_checkpoint().is_some() {
        return Ok(b"awake".to_vec());
    }
    ctx.checkpoint(b"snoozed")?;
    Err(Error::snooze(Duration::from_secs(1), "too early").with_code("sleepy"))
}

/// The input of `fail-until`.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct FailUntil {
    /// The first attempt that succeeds.
    pub attempt: u32,
}

/// Fails until the attempt that its input names, and returns that attempt's number.
#[handler(schema = r#"{
    "type": "object",
    "required": ["attempt"],
    "properties": { "attempt": { "type": "integer", "minimum": 1 } }
}"#)]
pub fn fail_until(ctx: &Context, input: FailUntil) -> Result<u32, Error> {
    if ctx.attempt() < input.attempt {
        let message = format!("attempt {} of {} that fail", ctx.attempt(), input.attempt - 1);
        return Err(Error::retry(message).with_code("not-yet"));
    }
    Ok(ctx.attempt())
}

/// Keeps a checkpoint and panics; the attempt that finds the checkpoint returns it.
#[handler]
pub fn checkpoint_resume(ctx: &Context) -> Result<Vec<u8>, Error> {
    if let Some(found) = ctx.last_checkpoint() {
        return Ok(found);
    }
    let checkpoint = format!("kept by attempt {}", ctx.attempt());
    ctx.checkpoint(checkpoint.as_bytes())?;
    crate::crashes::panic(ctx)?;
    Ok(Vec::new())
}
