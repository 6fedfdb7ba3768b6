//! From an error to a failure: its class, and words that the guest's author can use.

use crate::backtrace::Trace;
use crate::kill::KillReason;
use crate::limiter::{GrowthFailed, LimitHit};
use crate::text::kept;
use crate::traps;
use crate::vitals::Vitals;
use cofferdam_core::class::FailureClass;
use cofferdam_core::history::MAX_MESSAGE;
use cofferdam_core::outcome::{Failure, RetryAdvice};
use cofferdam_core::units::{format_duration, format_size};
use cofferdam_core::wait::CallbackHash;
use std::any::Any;
use std::time::Duration;
use thiserror::Error;
use wasmtime::{OutOfMemory, PoolConcurrencyLimitError, Trap, WasmBacktrace, WasmtimeBug};
use wasmtime_wasi::I32Exit;

/// Part of wasmtime's message for a host call that copies too much. Its type is private.
const HOSTCALL_FUEL: &str = "fuel allocated for hostcalls has been exhausted";

/// Where an attempt was when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The component's parts were being put together and initialised.
    Starting,
    /// The guest's function had been called.
    Running,
}

/// A failure whose backtrace is still to be written out.
pub(crate) struct Failed {
    pub(crate) failure: Failure,
    pub(crate) trace: Box<Trace>,
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        Self { failure, trace: Box::default() }
    }
}

/// The guest was stopped at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum Stop {
    #[error("killed")]
    Killed(KillReason),
    #[error("the deadline has passed")]
    Deadline,
}

/// The guest put its job aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the job was put aside")]
pub(crate) struct Suspended {
    pub(crate) timeout: Duration,
    pub(crate) callback: Option<CallbackHash>,
}

/// The failure that an error of a guest's call amounts to.
pub(crate) fn failure(error: &wasmtime::Error, vitals: &Vitals, phase: Phase) -> Failed {
    let trace = error.downcast_ref::<WasmBacktrace>().map(Trace::from).unwrap_or_default();
    let mut failure = classify(error, &trace, vitals, phase);
    failure.message = kept(&failure.message, MAX_MESSAGE);
    Failed { failure, trace: Box::new(trace) }
}

fn classify(error: &wasmtime::Error, trace: &Trace, vitals: &Vitals, phase: Phase) -> Failure {
    if let Some(stop) = error.downcast_ref::<Stop>() {
        return match stop {
            Stop::Killed(reason) => killed(*reason),
            Stop::Deadline => deadline(vitals, "while it ran guest code"),
        };
    }
    if let Some(suspension) = error.downcast_ref() {
        return suspended(suspension);
    }
    if let Some(hit) = error.downcast_ref::<LimitHit>() {
        return limit(hit);
    }
    if let Some(failed) = error.downcast_ref::<GrowthFailed>() {
        return Failure::new(FailureClass::Memory, "memory-limit", failed.to_string());
    }
    if let Some(failure) = host_trouble(error) {
        return failure;
    }
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        // WASI 0.2 often carries no more than "failed", which arrives as 1: no number is named.
        let how = if exit.0 == 0 { "a success" } else { "a failure" };
        let message = format!("the guest exited with {how} instead of returning from its call");
        return Failure::new(FailureClass::Error, format!("exit-{}", exit.0), message);
    }
    if let Some(trap) = error.downcast_ref::<Trap>() {
        return trapped(*trap, trace, vitals);
    }
    let root = error.root_cause().to_string();
    if root.contains(HOSTCALL_FUEL) {
        return too_much_copied(trace, vitals);
    }
    match phase {
        Phase::Starting => Failure::new(
            FailureClass::NotRunnable,
            "instantiation-failed",
            format!("the component cannot be started: {root}"),
        ),
        Phase::Running => Failure::new(
            FailureClass::Trap,
            "host-call-failed",
            format!("a host call refused what the guest asked for: {root}"),
        ),
    }
}

fn suspended(Suspended { timeout, callback }: &Suspended) -> Failure {
    let time = format_duration(*timeout);
    let message = match callback {
        Some(_) => format!("the job waits for a callback, {time} at most"),
        None => format!("the job sleeps for {time}"),
    };
    let mut failure = Failure::new(FailureClass::Snoozed, "suspended", message);
    failure.advice = RetryAdvice::Wait(*timeout);
    failure.callback = callback.map(Box::new);
    failure
}

fn limit(hit: &LimitHit) -> Failure {
    let (class, code) = match hit {
        LimitHit::Memory { .. } => (FailureClass::Memory, "memory-limit"),
        LimitHit::Table { .. } => (FailureClass::Table, "table-limit"),
        LimitHit::Output { .. } => (FailureClass::Output, "output-limit"),
        LimitHit::LogFlood { .. } => (FailureClass::LogFlood, "log-flood"),
    };
    Failure::new(class, code, hit.to_string())
}

/// Trouble that is not the guest's: the job goes back as if it had not been claimed.
fn host_trouble(error: &wasmtime::Error) -> Option<Failure> {
    let no_capacity = error.downcast_ref::<PoolConcurrencyLimitError>().is_some()
        || error.downcast_ref::<OutOfMemory>().is_some();
    if no_capacity {
        let message = format!("this worker has no room for the attempt: {}", error.root_cause());
        return Some(Failure::new(FailureClass::Released, "no-capacity", message));
    }
    let bug = error.downcast_ref::<WasmtimeBug>()?;
    tracing::error!(%bug, "the WebAssembly engine reports a bug of its own");
    let message = format!("the WebAssembly engine reports a bug of its own: {bug}");
    Some(Failure::new(FailureClass::Released, "host-bug", message))
}

fn trapped(trap: Trap, trace: &Trace, vitals: &Vitals) -> Failure {
    let (code, text) = traps::describe(trap);
    match trap {
        Trap::OutOfFuel => Failure::new(
            FailureClass::Fuel,
            code,
            format!("the fuel budget of {} is used up", vitals.limits.fuel),
        ),
        Trap::StackOverflow => Failure::new(FailureClass::Stack, code, text),
        // Compilers keep large locals on a stack in linear memory, which runs out first.
        Trap::MemoryOutOfBounds if let Some(name) = trace.recursion() => {
            let text = format!("{text}; possibly endless recursion: most frames are `{name}`");
            Failure::new(FailureClass::Stack, code, text)
        }
        _ => Failure::new(FailureClass::Trap, code, with_last_words(&text, vitals)),
    }
}

/// A trap tells little: the panic message, or the end of standard error, tells more.
fn with_last_words(text: &str, vitals: &Vitals) -> String {
    if let Some(panic) = vitals.journal.panic_message() {
        return format!("the guest {panic}");
    }
    match last_lines(&vitals.journal.stderr_tail()) {
        Some(lines) => format!("{text}; standard error ended with: {lines}"),
        None => text.to_owned(),
    }
}

/// The last few lines of a text on one line.
pub(crate) fn last_lines(text: &str) -> Option<String> {
    const LINES: usize = 5;
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|l| !l.is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default();
    (!last.is_empty()).then(|| last.join(" / "))
}

/// Results are copied after the guest returned, when it has no frames; arguments of host calls
/// are copied while it waits.
fn too_much_copied(trace: &Trace, vitals: &Vitals) -> Failure {
    if !trace.is_empty() {
        let max = format_size(vitals.limits.hostcall_bytes);
        let message = format!("a host call was given more than the {max} that it may carry");
        return Failure::new(FailureClass::Trap, "host-call-too-large", message);
    }
    limit(&LimitHit::Output { max: vitals.limits.output_bytes })
}

/// The failure of an attempt that was ended without being asked.
pub(crate) fn reaped(stop: Stop, vitals: &Vitals, queued: bool) -> Failed {
    if let Stop::Killed(reason) = stop {
        return ended(reason);
    }
    if let Some(call) = vitals.host_call() {
        let place = format!("while it waited in the host call {}", call.name());
        return deadline(vitals, &place).into();
    }
    if !queued {
        return deadline(vitals, "while it waited in a WASI call, for a timer or a stream").into();
    }
    Failed { failure: deadline(vitals, "while it ran guest code"), trace: Box::new(vitals.trace()) }
}

fn killed(reason: KillReason) -> Failure {
    let (class, code, message) = match reason {
        KillReason::Cancelled => {
            (FailureClass::Cancelled, "cancelled", "the job was cancelled while it ran")
        }
        KillReason::LeaseLost => (
            FailureClass::Lost,
            "lease-lost",
            "the attempt was ended because it did not hold its lease any more",
        ),
        KillReason::Shutdown => {
            (FailureClass::Released, "shutdown", "the worker stopped before the attempt ended")
        }
    };
    Failure::new(class, code, message)
}

fn deadline(vitals: &Vitals, place: &str) -> Failure {
    let which = if vitals.deadline.was_moved() {
        "its extended deadline".to_owned()
    } else {
        format!("its deadline of {}", format_duration(vitals.limits.deadline))
    };
    let message = format!("the attempt passed {which} {place}");
    Failure::new(FailureClass::Deadline, "deadline", message)
}

/// The host itself panicked; the guest gets the benefit of the doubt.
pub(crate) fn host_panic(panic: &(dyn Any + Send)) -> Failed {
    let said = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a message".to_owned());
    tracing::error!(panic = %said, "the host panicked while it ran a guest");
    let message = kept(&format!("the host panicked while it ran the guest: {said}"), MAX_MESSAGE);
    Failure::new(FailureClass::Released, "host-panic", message).into()
}

/// The failure of an attempt that was ended for this reason, wherever it was.
pub(crate) fn ended(reason: KillReason) -> Failed {
    killed(reason).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe;
    use crate::inbox::Inbox;
    use crate::kill::KillSwitch;
    use crate::limiter::Limiter;
    use std::io;
    use std::sync::Arc;
    use wasmtime::ResourceLimiter as _;

    /// What an attempt that runs knows of itself.
    fn vitals() -> Arc<Vitals> {
        let attempt = describe::attempt();
        let inbox = Arc::new(Inbox::new());
        let id = inbox.reserve();
        let kill = KillSwitch::new(inbox, id, None);
        Arc::new(Vitals::new(kill, attempt.host, attempt.limits, attempt.deadline))
    }

    #[test]
    fn memory_that_the_machine_refuses_to_a_guest_is_the_guests_failure() {
        // Given a guest that asks for memory within its limit, when the machine has none
        let vitals = vitals();
        let mut limiter = Limiter::new(Arc::clone(&vitals), u64::MAX);
        assert!(limiter.memory_growing(0, 65_536, None).unwrap());
        let refusal = io::Error::from(io::ErrorKind::OutOfMemory);
        let error = limiter.memory_grow_failed(refusal.into()).unwrap_err();
        // then the attempt counts: a job that is given back would ask again, for ever.
        let failed = failure(&error, &vitals, Phase::Running).failure;
        assert_eq!((failed.class, failed.code.as_str()), (FailureClass::Memory, "memory-limit"));
        assert!(failed.message.contains("out of memory"), "{}", failed.message);
    }

    #[test]
    fn the_last_lines_are_the_last() {
        assert_eq!(last_lines(" \n\n"), None);
        assert_eq!(last_lines("1\n2\n3\n4\n5\n6\n").unwrap(), "2 / 3 / 4 / 5 / 6");
    }
}
