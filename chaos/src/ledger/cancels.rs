//! An accepted cancel is the last word about a job.

use super::Case;
use crate::clock::{self, Nanos};
use crate::work::Cancel;
use std::time::Duration;

/// How long an attempt may go on whose worker cannot hear of the cancel: until its lease is no
/// longer good, and a little more on a machine that is shared.
const DEAF: Duration = Duration::from_secs(6);

/// What is wrong with how a cancel was honoured.
pub(super) fn check(case: &Case) -> Vec<String> {
    let (at, ran) = match case.job.cancel {
        Cancel::None | Cancel::Unknown => return Vec::new(),
        Cancel::AtOnce(at) => (at, false),
        Cancel::Requested(at) => (at, true),
    };
    let mut wrong = Vec::new();
    if case.state() != "cancelled" {
        wrong.push(format!("its cancel was accepted, and it is {}", case.state()));
    }
    if let Some(claimed) = case.row.and_then(|row| row.started_at).filter(|claimed| *claimed > at) {
        let late = clock::seconds(at, claimed);
        wrong.push(format!("it was claimed {late:.3} s after its cancel was accepted"));
    }
    for (&run_lease, effects) in case.effects {
        let Some(after) = effects.last().map(|effect| effect.at - at).filter(|after| *after > 0)
        else {
            continue;
        };
        let bound = if ran && run_lease == case.run_lease() { clock::nanos(DEAF) } else { 0 };
        if after > bound {
            let after = clock::seconds(0, after);
            wrong.push(format!("attempt #{run_lease} ran {after:.3} s after its cancel"));
        }
    }
    wrong
}

/// How long the attempt went on after its cancel was accepted, where it did.
pub(super) fn went_on(case: &Case) -> Option<Nanos> {
    let Cancel::Requested(at) = case.job.cancel else { return None };
    let last = case.effects.get(&case.run_lease())?.last()?;
    Some((last.at - at).max(0))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Story, effect};
    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    fn cancelled(cancel: Cancel) -> Story {
        let mut story = Story::new(1).with(|row| row.state = Some("cancelled".to_owned()));
        story.job.cancel = cancel;
        story
    }

    #[test]
    fn a_running_attempt_may_go_on_until_its_worker_hears_of_it() {
        let story = cancelled(Cancel::Requested(SECOND));
        let story = story.ran(1, &[effect(SECOND / 2, 7), effect(2 * SECOND, 7)]);
        assert_eq!(check(&story.case()), Vec::<String>::new());
        assert_eq!(went_on(&story.case()), Some(SECOND));
        let deaf = story.ran(1, &[effect(9 * SECOND, 7)]);
        assert_eq!(check(&deaf.case()), ["attempt #1 ran 8.000 s after its cancel"]);
    }

    #[test]
    fn a_waiting_job_never_runs_again() {
        let story = cancelled(Cancel::AtOnce(SECOND)).ran(1, &[effect(SECOND + 1, 7)]);
        assert_eq!(check(&story.case()), ["attempt #1 ran 0.000 s after its cancel"]);
    }

    #[test]
    fn a_cancel_that_changed_nothing_is_seen() {
        let mut story = Story::new(1);
        story.job.cancel = Cancel::Requested(SECOND);
        assert_eq!(check(&story.case()), ["its cancel was accepted, and it is completed"]);
    }
}
