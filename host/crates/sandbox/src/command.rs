//! Command jobs: any WASI program. Its standard input is the payload, its standard output the
//! job's output, its standard error the log, and its exit code the verdict.
//!
//! # Exit codes
//!
//! 0 is success, 65 (`EX_DATAERR`) and 78 (`EX_CONFIG`) are permanent errors, everything else is
//! an error worth a retry. WASI 0.2 carries the code itself only through
//! `wasi:cli/exit.exit-with-code`; the C library behind Rust's `std::process::exit`, and a `main`
//! that returns an `ExitCode`, say no more than "failed", which arrives here as 1. A program that
//! cannot call `exit-with-code` may instead end its standard error with a line of its own,
//! `cofferdam: exit 65`.

use crate::outcome::{Failed, Phase, last_lines};
use crate::output::Collected;
use crate::task::Value;
use crate::text;
use crate::vitals::Vitals;
use cofferdam_core::class::FailureClass;
use cofferdam_core::history::MAX_MESSAGE;
use cofferdam_core::outcome::Failure;
use wasmtime_wasi::I32Exit;

/// `EX_DATAERR` and `EX_CONFIG` of sysexits.h: the same input can only fail again.
const PERMANENT: [i32; 2] = [65, 78];

/// What a program says on standard error when its exit code cannot travel.
const EXIT_LINE: &str = "cofferdam: exit ";

/// The end of a command, from what its `run` returned or how it left.
pub(crate) fn end(
    ran: wasmtime::Result<Result<(), ()>>,
    output: &Collected,
    vitals: &Vitals,
) -> Result<Value, Failed> {
    let code = match ran {
        Ok(Ok(())) => 0,
        Ok(Err(())) => 1,
        Err(error) => match error.downcast_ref::<I32Exit>() {
            Some(exit) => exit.0,
            None => return Err(crate::outcome::failure(&error, vitals, Phase::Running)),
        },
    };
    if code == 0 {
        return Ok(Value::Output(output.take()));
    }
    Err(failure(code, &vitals.journal.stderr_tail()).into())
}

fn failure(code: i32, stderr: &str) -> Failure {
    let last = stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
    let said = last.and_then(|line| line.strip_prefix(EXIT_LINE)?.parse().ok());
    // Only where the code was lost, and never into a success.
    let code = if code == 1 { said.filter(|&said| said != 0).unwrap_or(code) } else { code };
    let class =
        if PERMANENT.contains(&code) { FailureClass::Permanent } else { FailureClass::Error };
    let message = match last_lines(stderr) {
        Some(lines) => format!("the program ended with exit code {code}: {lines}"),
        None => format!("the program ended with exit code {code}"),
    };
    Failure::new(class, format!("exit-{code}"), text::kept(&message, MAX_MESSAGE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_data_and_configuration_errors_are_permanent() {
        for (code, class) in [
            (1, FailureClass::Error),
            (2, FailureClass::Error),
            (65, FailureClass::Permanent),
            (78, FailureClass::Permanent),
            (255, FailureClass::Error),
        ] {
            assert_eq!(failure(code, "").class, class, "{code}");
        }
    }

    #[test]
    fn a_lost_code_may_be_said_on_standard_error() {
        let failed = failure(1, "row 7: no such column\ncofferdam: exit 65\n\n");
        assert_eq!(failed.class, FailureClass::Permanent);
        assert_eq!(failed.code, "exit-65");
        assert!(failed.message.contains("row 7: no such column"), "{}", failed.message);
    }

    #[test]
    fn what_is_said_changes_no_code_that_arrived() {
        assert_eq!(failure(2, "cofferdam: exit 65\n").code, "exit-2");
        assert_eq!(failure(1, "cofferdam: exit 0\n").code, "exit-1");
        assert_eq!(failure(1, "cofferdam: exit 65\nbut then\n").code, "exit-1");
    }
}
