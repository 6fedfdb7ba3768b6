//! Every job in one place, at the end that it was meant for, with every attempt accounted for.

use super::Case;
use crate::rows::{AttemptRow, JobRow};
use crate::work::{Cancel, Plan};
use std::collections::BTreeMap;

/// How often a job may be lost.
const MAX_CRASHES: i32 = 3;

/// The classes that faults bring to any job, and operators.
const ANYWHERE: [&str; 3] = ["lost", "released", "cancelled"];

/// Classes that are not counted against the attempts of a job.
const UNCOUNTED: [&str; 4] = ["lost", "released", "cancelled", "snoozed"];

/// The states that nothing leaves.
const ENDS: [&str; 4] = ["completed", "failed", "dead", "cancelled"];

/// Whether the job is lost: accepted, and nowhere.
pub(super) fn lost(case: &Case) -> Vec<String> {
    let nowhere = case.row.is_none_or(|row| row.places == 0);
    if case.job.accepted.is_some() && nowhere {
        return vec!["it was accepted and is nowhere".to_owned()];
    }
    Vec::new()
}

/// What is wrong with where the job is and how it got there.
pub(super) fn check(case: &Case) -> Vec<String> {
    let Some(row) = case.row else { return Vec::new() };
    let mut wrong = Vec::new();
    if row.places > 1 {
        wrong.push(format!("it is in {} places", row.places));
    }
    if !ENDS.contains(&case.state()) {
        wrong.push(format!("it has not ended: it is {}", case.state()));
        return wrong;
    }
    wrong.extend(end(case, row));
    wrong.extend(budgets(case, row));
    wrong.extend(attempts(case));
    wrong
}

/// Whether the end is the one that was planned.
fn end(case: &Case, row: &JobRow) -> Option<String> {
    let (plan, planned) = (case.job.plan, case.job.plan.end(case.job.max_attempts));
    let crashed = row.reason.as_deref() == Some("crashed");
    match case.state() {
        "cancelled" if case.job.cancel == Cancel::None => {
            Some("it is cancelled, and nobody asked for that".to_owned())
        }
        "cancelled" => None,
        "dead" if crashed => (row.crashes != Some(MAX_CRASHES))
            .then(|| format!("it died of {:?} crashes, not of {MAX_CRASHES}", row.crashes)),
        _ if plan == Plan::Poison => Some("it is poison, and did not die of it".to_owned()),
        state if state != planned.state => {
            Some(format!("it is {state}, and was to be {}", planned.state))
        }
        _ if row.attempts != i32::try_from(planned.attempts).ok() => Some(format!(
            "{:?} failed attempts were counted, and there were to be {}",
            row.attempts, planned.attempts
        )),
        _ => None,
    }
}

/// Whether the counters are what the history says, and within their budgets.
fn budgets(case: &Case, row: &JobRow) -> Vec<String> {
    let mut wrong = Vec::new();
    let classes = || case.history.iter().filter_map(|attempt| attempt.class.as_deref());
    let crashes = classes().filter(|class| *class == "lost").count();
    let counted = classes().filter(|class| !UNCOUNTED.contains(class)).count();
    for (what, counter, seen, most) in [
        ("lost", row.crashes, crashes, usize::try_from(MAX_CRASHES).unwrap_or(0)),
        ("failed", row.attempts, counted, usize::try_from(case.job.max_attempts).unwrap_or(0)),
    ] {
        if counter.and_then(|counter| usize::try_from(counter).ok()) != Some(seen) {
            wrong.push(format!("{counter:?} {what} attempts are counted, the history has {seen}"));
        }
        if seen > most {
            wrong.push(format!("{seen} attempts {what}, and at most {most} may"));
        }
    }
    wrong
}

/// Whether each claim became one attempt in the history, of a class that may be.
fn attempts(case: &Case) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut closed: BTreeMap<i64, Vec<&AttemptRow>> = BTreeMap::new();
    for attempt in case.history {
        closed.entry(attempt.run_lease).or_default().push(attempt);
        let class = attempt.class.as_deref().unwrap_or("success");
        let may = ANYWHERE.contains(&class) || case.job.plan.classes().contains(&class);
        if !may && attempt.class.is_some() {
            wrong.push(format!("attempt #{} ended as `{class}`", attempt.run_lease));
        }
    }
    let completed = case.state() == "completed";
    for run_lease in 1..=case.run_lease() {
        let rows = closed.remove(&run_lease).unwrap_or_default();
        let last = run_lease == case.run_lease();
        // A success that nothing went before is in no history.
        let missing = rows.is_empty() && !(last && completed);
        if missing || rows.len() > 1 {
            wrong.push(format!("claim #{run_lease} became {} attempts", rows.len()));
        }
        if rows.iter().any(|row| row.class.is_none()) != (completed && last && !rows.is_empty()) {
            wrong.push(format!("attempt #{run_lease} succeeded, or the last one did not"));
        }
    }
    if let Some(stray) = closed.keys().next() {
        wrong.push(format!("attempt #{stray} was never given out"));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::super::tests::Story;
    use super::*;

    #[test]
    fn a_job_that_completed_at_once_is_as_it_must_be() {
        assert_eq!(check(&Story::new(1).case()), Vec::<String>::new());
    }

    #[test]
    fn a_crash_that_was_not_counted_is_seen() {
        let story = Story::new(2).closed(1, Some("lost")).closed(2, None);
        let counted = story.with(|row| row.crashes = Some(1));
        assert_eq!(check(&counted.case()), Vec::<String>::new());
        let forgotten = counted.with(|row| row.crashes = Some(0));
        assert_eq!(
            check(&forgotten.case()),
            ["Some(0) lost attempts are counted, the history has 1"]
        );
    }

    #[test]
    fn a_claim_without_a_trace_is_seen() {
        let story = Story::new(3).closed(1, Some("lost")).closed(3, None);
        let story = story.with(|row| row.crashes = Some(1));
        assert_eq!(check(&story.case()), ["claim #2 became 0 attempts"]);
    }

    #[test]
    fn another_end_than_the_planned_one_is_seen() {
        let story = Story::new(1).closed(1, Some("permanent"));
        let story = story.with(|row| {
            row.state = Some("failed".to_owned());
            row.attempts = Some(1);
        });
        let expected = ["it is failed, and was to be completed", "attempt #1 ended as `permanent`"];
        assert_eq!(check(&story.case()), expected);
    }

    #[test]
    fn a_job_in_two_places_or_none_is_seen() {
        let twice = Story::new(1).with(|row| row.places = 2);
        assert_eq!(check(&twice.case()), ["it is in 2 places"]);
        let nowhere = Story::new(1).with(|row| row.places = 0);
        assert_eq!(lost(&nowhere.case()), ["it was accepted and is nowhere"]);
    }
}
