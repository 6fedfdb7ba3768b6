//! The exit codes. Scripts rely on them.

use std::process::ExitCode;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything that was asked for is done.
    Ok = 0,
    /// The operation failed: a job failed, something was not found, a request was refused.
    Failed = 1,
    /// The command line or the configuration says something that makes no sense.
    Usage = 2,
    /// The server or the database cannot be reached, or does not accept the token.
    Unreachable = 3,
    /// The job that was waited for trapped or hit a limit.
    Limit = 4,
    /// The wait took longer than allowed.
    TimedOut = 5,
    /// A role gave itself up and is to be started again: it lost too many threads to guests, a part
    /// of it ended, or its runtime stood still. Not one of the codes that shells or signals use.
    GaveUp = 70,
    /// A signal ended the command.
    Interrupted = 130,
}

/// What the codes mean, for the help and the documentation.
pub(crate) const MEANINGS: &str = "\
Exit codes:
  0    done
  1    the operation failed: a job failed, not found, conflict, refused
  2    the command line or the configuration is wrong
  3    cannot reach the server or the database, or not authenticated
  4    the job trapped or hit a limit (with --wait)
  5    timed out waiting
  70   a worker gave itself up, and is to be started again by what supervises it
  130  interrupted";

impl Exit {
    /// The number that the parent process sees.
    pub(crate) const fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
