//! No two attempts of a job at once, none out of turn, and no success that nobody saw.

use super::Case;
use crate::clock;

/// What is wrong with when the attempts of a job ran.
pub(super) fn check(case: &Case) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut before: Option<(i64, i64)> = None;
    for (&run_lease, effects) in case.effects {
        let (Some(first), Some(last)) = (effects.first(), effects.last()) else { continue };
        if let Some((token, until)) = before
            && first.at <= until
        {
            let by = clock::seconds(first.at, until) * 1e3;
            wrong.push(format!("attempt #{run_lease} ran {by:.1} ms before #{token} was over"));
        }
        let until = before.map_or(last.at, |(_, until)| until.max(last.at));
        before = Some((run_lease, until));
        if run_lease > case.run_lease() {
            wrong.push(format!("attempt #{run_lease} ran, but was never given out"));
        }
        let workers = effects.iter().filter(|effect| effect.pid != first.pid).count();
        if workers > 0 {
            wrong.push(format!("attempt #{run_lease} ran on two workers"));
        }
    }
    if case.state() == "completed" && !case.effects.contains_key(&case.run_lease()) {
        wrong.push(format!("attempt #{} succeeded, and nobody saw it run", case.run_lease()));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Story, effect};
    use super::*;

    #[test]
    fn attempts_one_after_the_other_are_as_it_must_be() {
        let story = Story::new(2).ran(1, &[effect(10, 7), effect(20, 7)]).ran(2, &[effect(21, 8)]);
        assert_eq!(check(&story.case()), Vec::<String>::new());
    }

    #[test]
    fn an_attempt_that_outlives_its_lease_is_seen() {
        let story = Story::new(2)
            .ran(1, &[effect(10_000_000, 7), effect(30_000_000, 7)])
            .ran(2, &[effect(25_000_000, 8)]);
        assert_eq!(check(&story.case()), ["attempt #2 ran 5.0 ms before #1 was over"]);
    }

    #[test]
    fn an_old_attempt_that_wakes_up_is_seen_whatever_came_between() {
        let story = Story::new(3)
            .ran(1, &[effect(10, 7), effect(99, 7)])
            .ran(2, &[effect(20, 8)])
            .ran(3, &[effect(40, 9)]);
        assert_eq!(check(&story.case()).len(), 2);
    }

    #[test]
    fn a_success_that_nobody_saw_is_seen() {
        let story = Story::new(2).ran(1, &[effect(10, 7)]);
        assert_eq!(check(&story.case()), ["attempt #2 succeeded, and nobody saw it run"]);
    }

    #[test]
    fn a_token_that_was_never_given_out_is_seen() {
        let story = Story::new(1).ran(1, &[effect(9, 7)]).ran(2, &[effect(10, 7)]);
        assert_eq!(check(&story.case()), ["attempt #2 ran, but was never given out"]);
    }
}
