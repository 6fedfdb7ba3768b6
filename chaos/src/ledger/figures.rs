//! What is counted and measured.

use super::{Case, Evidence, cancels};
use crate::clock::Nanos;
use crate::report::{Percentiles, Report};
use crate::work::Cancel;
use std::collections::BTreeMap;

/// Adds up what the run has to tell.
pub(super) fn add(evidence: &Evidence, cases: &[Case], report: &mut Report) {
    let count = |counts: &mut BTreeMap<String, usize>, what: &str| {
        *counts.entry(what.to_owned()).or_default() += 1;
    };
    let mut restarts: BTreeMap<String, Vec<Nanos>> = BTreeMap::new();
    for case in cases {
        let ends = report.jobs.entry(case.job.plan.name().to_owned()).or_default();
        count(ends, &end(case));
        report.attempts += case.effects.len();
        report.effects += case.effects.values().map(Vec::len).sum::<usize>();
        for code in rescues(case).map(|(_, code)| code) {
            count(&mut report.lost_attempts, code);
        }
        for (code, took) in case_restarts(evidence, case) {
            restarts.entry(code.to_owned()).or_default().push(took);
        }
        match case.job.cancel {
            Cancel::None => {}
            Cancel::Unknown => count(&mut report.cancels, "the answer was lost"),
            Cancel::AtOnce(_) => count(&mut report.cancels, "accepted while the job waited"),
            Cancel::Requested(_) => count(&mut report.cancels, "accepted while the job ran"),
        }
    }
    report.restarts =
        restarts.into_iter().map(|(code, took)| (code, Percentiles::of(took))).collect();
    report.cancelled_after = Percentiles::of(cases.iter().filter_map(cancels::went_on).collect());
    for fault in &evidence.faults {
        count(&mut report.faults, fault.kind.name());
    }
    for execution in &evidence.executions {
        let what = if execution.alone { "poison that ran alone" } else { "poison in a worker" };
        count(&mut report.faults, what);
    }
}

fn end(case: &Case) -> String {
    match case.row.and_then(|row| row.reason.as_deref()) {
        Some(reason) => format!("{} ({reason})", case.state()),
        None => case.state().to_owned(),
    }
}

/// The attempts that somebody else had to end, and the code that says how that was found out.
fn rescues<'a>(case: &Case<'a>) -> impl Iterator<Item = (i64, &'a str)> {
    case.history.iter().filter_map(|attempt| {
        let code = attempt.code.as_deref()?;
        let lost = attempt.class.as_deref() == Some("lost");
        (lost || code == "hard_deadline").then_some((attempt.run_lease, code))
    })
}

/// For each attempt that was lost when its process was killed: how that was found out, and how long
/// it took from the kill until the next attempt left its first trace.
fn case_restarts<'a>(evidence: &Evidence, case: &Case<'a>) -> Vec<(&'a str, Nanos)> {
    let restart = |(run_lease, code): (i64, &'a str)| {
        let last = case.effects.get(&run_lease)?.last()?;
        let executed = evidence.executions.iter().find(|it| it.is_of(case.job.id, run_lease));
        let kill = || evidence.kills.iter().find(|(pid, _)| *pid == last.pid);
        let killed = executed.map(|it| it.at).or_else(|| kill().map(|(_, at)| *at))?;
        let next = case.effects.get(&(run_lease + 1))?.first()?;
        Some((code, next.at - killed)).filter(|(_, took)| *took > 0)
    };
    rescues(case).filter_map(restart).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Story, effect, evidence};
    use super::*;

    #[test]
    fn a_restart_is_measured_from_the_kill_to_the_next_trace() {
        let story = Story::new(2)
            .ran(1, &[effect(1_000_000, 7)])
            .closed(1, Some("lost"))
            .ran(2, &[effect(9_000_000, 8)])
            .closed(2, None);
        let mut evidence = evidence();
        evidence.kills = vec![(7, 2_000_000)];
        let mut report = Report::default();

        add(&evidence, &[story.case()], &mut report);

        let restart = report.restarts["lost"];
        assert_eq!((restart.count, restart.max), (1, 7.0));
        assert_eq!(report.jobs["ok"]["completed"], 1);
        assert_eq!(report.lost_attempts["lost"], 1);
    }
}
