//! What the child says of the attempt's end, and how much of it is believed.
//!
//! A guest that took its process over writes whatever it likes. It gains nothing by what any
//! guest can bring about, such as an error or a trap. What it must not be able to say is what a
//! worker would act upon: that the attempt does not count, that somebody killed it, or numbers
//! that do not fit anywhere.

use super::protocol::{Ended, Failed};
use crate::kill::KillReason;
use crate::outcome;
use cofferdam_core::class::FailureClass;
use cofferdam_core::history::{PROCESS_DIED, bounded};
use cofferdam_core::limits::Limits;
use cofferdam_core::outcome::{End, Failure, Outcome, RetryAdvice, Usage};
use cofferdam_core::units::format_duration;
use std::time::Duration;

/// The codes of faults of a sandbox, which whoever holds the lease counts as crashes.
const FAULTS: [&str; 2] = ["host-panic", "host-bug"];

/// The code of an attempt for which there was no room.
const NO_CAPACITY: &str = "no-capacity";

/// What this side knows by itself.
pub(super) struct Known<'a> {
    pub(super) limits: &'a Limits,
    /// The reason that the child was given, if any.
    pub(super) killed: Option<KillReason>,
    /// Whether there is a lease that may have ended.
    pub(super) leased: bool,
    /// The time since the attempt was started.
    pub(super) wall: Duration,
}

/// The outcome that the child's words amount to, or what is impossible about them.
pub(super) fn outcome(
    ended: Ended,
    output: Vec<u8>,
    known: &Known<'_>,
) -> Result<Outcome, &'static str> {
    let usage = usage(&ended.usage, output.len() as u64, known);
    let end = match ended.failure {
        Some(_) if !output.is_empty() => return Err("it failed and has an output"),
        Some(Failed(failure)) => End::Failed(self::failure(failure, known)?),
        None if output.len() as u64 > known.limits.output_bytes => {
            return Err("its output is larger than the limit");
        }
        None => End::Completed(output),
    };
    Ok(Outcome { end, usage })
}

fn failure(failure: Failure, known: &Known<'_>) -> Result<Failure, &'static str> {
    let mut failure = bounded(failure);
    if !matches!(failure.class, FailureClass::Error | FailureClass::Snoozed) {
        failure.advice = RetryAdvice::Default;
        failure.callback = None;
    }
    let told = |reason| known.killed == Some(reason);
    match failure.class {
        FailureClass::Cancelled if told(KillReason::Cancelled) => {
            Ok(outcome::ended(KillReason::Cancelled).failure)
        }
        FailureClass::Cancelled => Err("it was cancelled by nobody"),
        FailureClass::Released if told(KillReason::Shutdown) => {
            Ok(outcome::ended(KillReason::Shutdown).failure)
        }
        FailureClass::Released if FAULTS.contains(&failure.code.as_str()) => Ok(failure),
        // In a process of its own there is no neighbour that took the room. Given back, it could
        // do the same for ever.
        FailureClass::Released if failure.code == NO_CAPACITY => {
            Ok(process_died(&format!("alone in its process: {}", failure.message)))
        }
        FailureClass::Released => Err("it was given back by nobody"),
        // The child watches the lease, too, and may have been told of a renewal too late.
        FailureClass::Lost if told(KillReason::LeaseLost) || known.leased => {
            Ok(outcome::ended(KillReason::LeaseLost).failure)
        }
        FailureClass::Lost => Err("it lost a lease that there is not"),
        _ => Ok(failure),
    }
}

/// The child's numbers, none larger than an attempt can come to.
fn usage(said: &Usage, output_bytes: u64, known: &Known<'_>) -> Usage {
    let limits = known.limits;
    let wall = micros(known.wall);
    // The last line of a flood is counted whole.
    let log_bytes = limits.log_flood_bytes.saturating_add(limits.hostcall_bytes);
    Usage {
        fuel: said.fuel.min(limits.fuel),
        // One thread, which cannot have run for longer than that.
        cpu_micros: said.cpu_micros.min(wall),
        wall_micros: said.wall_micros.min(wall),
        peak_memory_bytes: said.peak_memory_bytes.min(limits.memory_bytes),
        log_bytes: said.log_bytes.min(log_bytes),
        output_bytes,
    }
}

/// What is known of an attempt that did not say what it used.
pub(super) fn unsaid(wall: Duration) -> Usage {
    Usage { wall_micros: micros(wall), ..Usage::default() }
}

/// The process ended, or had to be ended, before it said how the attempt did.
pub(super) fn process_died(how: &str) -> Failure {
    bounded(Failure::new(FailureClass::Lost, PROCESS_DIED, how))
}

/// There was no process that could have run the guest: nothing is its fault.
pub(super) fn no_process(why: &str) -> Failure {
    let message = format!("this host could not run the attempt in a process of its own: {why}");
    bounded(Failure::new(FailureClass::Released, "no-process", message))
}

/// The artefact cannot be loaded.
pub(super) fn refused(code: &str, message: &str) -> Failure {
    bounded(Failure::new(FailureClass::NotRunnable, code, message))
}

/// The deadline has passed, and the child did not say so.
pub(super) fn overdue(limits: &Limits, place: &str) -> Failure {
    let deadline = format_duration(limits.deadline);
    let message = format!("the attempt passed its deadline of {deadline} {place}");
    Failure::new(FailureClass::Deadline, "deadline", message)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(limits: &Limits, killed: Option<KillReason>, leased: bool) -> Known<'_> {
        Known { limits, killed, leased, wall: Duration::from_secs(1) }
    }

    fn said(class: FailureClass, code: &str) -> Ended {
        let mut failure = Failure::new(class, code, "x".repeat(100_000));
        failure.advice = RetryAdvice::After(Duration::MAX);
        Ended { failure: Some(Failed(failure)), usage: Usage::default() }
    }

    fn class(outcome: Outcome) -> (FailureClass, String) {
        match outcome.end {
            End::Failed(failure) => (failure.class, failure.code),
            End::Completed(output) => panic!("it completed with {output:?}"),
        }
    }

    #[test]
    fn nobody_is_believed_to_have_been_killed_by_nobody() {
        let limits = Limits::default();
        for (class, code) in [
            (FailureClass::Cancelled, "cancelled"),
            (FailureClass::Released, "shutdown"),
            (FailureClass::Lost, "lease-lost"),
        ] {
            let ended = outcome(said(class, code), Vec::new(), &known(&limits, None, false));
            assert!(ended.is_err(), "{class}");
        }
    }

    #[test]
    fn a_reason_that_was_given_comes_back() {
        let limits = Limits::default();
        for (class, reason) in [
            (FailureClass::Cancelled, KillReason::Cancelled),
            (FailureClass::Released, KillReason::Shutdown),
            (FailureClass::Lost, KillReason::LeaseLost),
        ] {
            let known = known(&limits, Some(reason), true);
            let ended = outcome(said(class, "whatever"), Vec::new(), &known).unwrap();
            assert_eq!(ended.end, End::Failed(outcome::ended(reason).failure));
        }
    }

    #[test]
    fn what_does_not_count_is_not_for_the_child_to_say() {
        let limits = Limits::default();
        let claim = |code| {
            let ended = said(FailureClass::Released, code);
            outcome(ended, Vec::new(), &known(&limits, None, true)).map(class)
        };
        for code in FAULTS {
            assert_eq!(claim(code), Ok((FailureClass::Released, code.to_owned())));
        }
        assert_eq!(claim(NO_CAPACITY), Ok((FailureClass::Lost, PROCESS_DIED.to_owned())));
        assert!(claim("loading").is_err());
    }

    #[test]
    fn texts_are_bounded_and_only_handlers_give_advice() {
        let limits = Limits::default();
        let known = known(&limits, None, true);
        let trap = outcome(said(FailureClass::Trap, &"c".repeat(999)), Vec::new(), &known).unwrap();
        let End::Failed(failure) = trap.end else { panic!("it completed") };
        assert!(failure.message.len() <= cofferdam_core::history::MAX_MESSAGE);
        assert!(failure.code.len() <= cofferdam_core::history::MAX_CODE);
        assert_eq!(failure.advice, RetryAdvice::Default);
        let error = outcome(said(FailureClass::Error, "e"), Vec::new(), &known).unwrap();
        let End::Failed(failure) = error.end else { panic!("it completed") };
        assert_eq!(failure.advice, RetryAdvice::After(Duration::MAX));
    }

    #[test]
    fn numbers_are_no_larger_than_an_attempt_can_come_to() {
        // Given a child that boasts
        let most = u64::MAX;
        let usage = Usage {
            fuel: most,
            cpu_micros: most,
            wall_micros: most,
            peak_memory_bytes: most,
            log_bytes: most,
            output_bytes: most,
        };
        let limits = Limits::default();
        let ended = Ended { failure: None, usage };
        // when its numbers are taken
        let ended = outcome(ended, vec![0; 3], &known(&limits, None, false)).unwrap();
        // then the limits and this side's clock bound them.
        let Usage { fuel, cpu_micros, wall_micros, peak_memory_bytes, log_bytes, output_bytes } =
            ended.usage;
        assert_eq!((fuel, peak_memory_bytes), (limits.fuel, limits.memory_bytes));
        assert_eq!((cpu_micros, wall_micros, output_bytes), (1_000_000, 1_000_000, 3));
        assert!(log_bytes < 1 << 30, "{log_bytes}");
    }

    #[test]
    fn outputs_are_measured_again() {
        let limits = Limits { output_bytes: 2, ..Limits::default() };
        let completed = || Ended { failure: None, usage: Usage::default() };
        let known = known(&limits, None, false);
        assert!(outcome(completed(), vec![0; 2], &known).is_ok());
        assert!(outcome(completed(), vec![0; 3], &known).is_err());
        assert!(outcome(said(FailureClass::Trap, "t"), vec![0; 1], &known).is_err());
    }
}
