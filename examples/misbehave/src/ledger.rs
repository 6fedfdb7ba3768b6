//! A kind that leaves a trace of every moment at which it runs, for whoever looks for moments at
//! which it must not.

use cofferdam_guest::{Context, Error, handler};
use serde::Deserialize;
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Between two traces.
const STEP: Duration = Duration::from_millis(25);

/// The input of `ledger`.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Ledger {
    /// How long to work, in milliseconds.
    pub ms: u64,
    /// How the work ends.
    pub outcome: Ending,
}

/// How an attempt of `ledger` ends, when nobody ends it before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It completes.
    Ok,
    /// It fails with an error that asks for another attempt, until the one of this number.
    ErrorUntil(u32),
    /// It fails for good.
    Permanent,
    /// It panics.
    Trap,
    /// It asks to run a second later the first time, and completes the second time.
    Snooze,
    /// It spins.
    Spin,
    /// It says `poison` when it starts, so that somebody may kill the process that it runs in, and
    /// fails for good when nobody did.
    Poison,
}

/// Works for as long as its input says, and ends as its input says. Returns the attempt's number.
///
/// Every 25 ms it logs `effect NANOSECONDS ATTEMPT`, with the wall clock since 1970-01-01 UTC.
#[handler(
    fuel = 10_000_000_000_000,
    schema = r#"{
    "type": "object",
    "required": ["ms", "outcome"],
    "properties": { "ms": { "type": "integer", "minimum": 0 } }
}"#
)]
#[expect(clippy::panic, clippy::missing_panics_doc, reason = "one of the endings")]
pub fn ledger(ctx: &Context, input: Ledger) -> Result<u32, Error> {
    trace(ctx)?;
    if input.outcome == Ending::Poison {
        ctx.trace("poison");
    }
    let work = Duration::from_millis(input.ms);
    let start = Instant::now();
    while let Some(left) = work.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) {
        thread::sleep(left.min(STEP));
        trace(ctx)?;
    }
    match input.outcome {
        Ending::Ok => {}
        Ending::ErrorUntil(attempt) if ctx.attempt() >= attempt => {}
        Ending::ErrorUntil(_) => return Err(Error::retry("not yet").with_code("not-yet")),
        Ending::Permanent => return Err(Error::permanent("never").with_code("hopeless")),
        Ending::Trap => panic!("a planned panic, in attempt {}", ctx.attempt()),
        Ending::Snooze if ctx.last_checkpoint().is_some() => {}
        Ending::Snooze => return Err(snooze(ctx)),
        Ending::Spin => spin(ctx)?,
        Ending::Poison => {
            return Err(Error::permanent("nobody killed the process").with_code("survived"));
        }
    }
    Ok(ctx.attempt())
}

/// One trace: the work of a moment, which nobody can take back.
fn trace(ctx: &Context) -> Result<(), Error> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    ctx.trace(format!("effect {} {}", since.as_nanos(), ctx.attempt()));
    Ok(())
}

/// Keeps the checkpoint that tells the two attempts apart, and says when to come back. A host
/// whose database is away keeps no checkpoint yet: the attempt waits for it.
fn snooze(ctx: &Context) -> Error {
    while ctx.checkpoint(b"snoozed").is_err() {
        thread::sleep(STEP);
    }
    Error::snooze(Duration::from_secs(1), "too early").with_code("sleepy")
}

/// Spins until the deadline, and traces that it does.
fn spin(ctx: &Context) -> Result<(), Error> {
    let mut turns: u64 = 0;
    let mut traced = Instant::now();
    loop {
        turns = black_box(turns.wrapping_add(1));
        if turns.is_multiple_of(1 << 16) && traced.elapsed() >= STEP {
            trace(ctx)?;
            traced = Instant::now();
        }
    }
}
