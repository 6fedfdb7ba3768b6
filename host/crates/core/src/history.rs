//! The error history of a job: one entry for each attempt that did not succeed.

use crate::Time;
use crate::class::FailureClass;
use crate::ids::{RunLease, WorkerId};
use crate::outcome::Failure;
use serde::{Deserialize, Serialize};

/// The message of an attempt whose lease was rescued. Scripts match on it.
pub const HEARTBEAT_STALE: &str = "heartbeat stale: worker presumed dead";
/// The message of an attempt that the deadline sweep ended. Scripts match on it.
pub const HARD_DEADLINE: &str = "hard deadline exceeded";
/// The message of an attempt whose worker's process was seen to end.
pub const WORKER_GONE: &str = "worker gone: its database session ended";
/// The message of an attempt whose worker is not registered.
pub const ORPHANED: &str = "orphaned: its worker is not registered";
/// The message of an attempt whose worker an operator declared dead.
pub const EVICTED: &str = "worker evicted by an operator";

/// The code of an attempt that ran in a process of its own, which died: proof that its guest did it,
/// where the code of a lost lease only says that a worker went away.
pub const PROCESS_DIED: &str = "process_died";

/// The longest message kept, in bytes. Guests write these.
pub const MAX_MESSAGE: usize = 4 * 1024;
/// The longest backtrace kept, in bytes.
pub const MAX_BACKTRACE: usize = 16 * 1024;
/// The longest code kept, in bytes.
pub const MAX_CODE: usize = 64;

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorEntry {
    /// When the attempt ended, by the database's clock.
    pub at: Time,
    /// The attempt's number, from 1.
    pub attempt: u32,
    /// The claim that it was.
    pub run_lease: RunLease,
    /// The worker that ran it.
    pub worker: Option<WorkerId>,
    /// Why it ended.
    pub class: FailureClass,
    /// A short word for programs.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// The guest's frames, innermost first.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub backtrace: String,
}

/// Cuts a failure's texts to what is kept and takes out what the database cannot hold.
#[must_use]
pub fn bounded(mut failure: Failure) -> Failure {
    failure.code = bounded_text(&failure.code, MAX_CODE);
    failure.message = bounded_text(&failure.message, MAX_MESSAGE);
    failure.backtrace = bounded_text(&failure.backtrace, MAX_BACKTRACE);
    failure
}

/// At most `max` bytes of `text`, cut between characters and marked with an ellipsis; NUL, which
/// Postgres refuses in text, becomes U+FFFD.
pub fn bounded_text(text: &str, max: usize) -> String {
    const MARK: &str = "…";
    let clean = text.replace('\0', "\u{fffd}");
    if clean.len() <= max {
        return clean;
    }
    let mut end = max.saturating_sub(MARK.len());
    while !clean.is_char_boundary(end) {
        end -= 1;
    }
    let mut cut = clean;
    cut.truncate(end);
    cut.push_str(MARK);
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// S21, S22: the two ways to be rescued are told apart by these very words.
    #[test]
    fn scripts_match_on_these_messages() {
        assert_eq!(HEARTBEAT_STALE, "heartbeat stale: worker presumed dead");
        assert_eq!(HARD_DEADLINE, "hard deadline exceeded");
    }

    #[test]
    fn nul_does_not_reach_the_database() {
        assert_eq!(bounded_text("a\0b", 10), "a\u{fffd}b");
    }

    proptest! {
        #[test]
        fn texts_are_bounded(text in ".*", max in 4_usize..200) {
            prop_assert!(bounded_text(&text, max).len() <= max);
        }
    }
}
