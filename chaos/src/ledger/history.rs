//! Everything that is known of a job, for whoever has to find out what went wrong.

use super::{Case, Evidence};
use crate::clock::{self, Nanos};
use std::fmt::Write as _;

/// How much before and after a job's own time is told.
const AROUND: Nanos = 5_000_000_000;

/// One event a line, in the order of time.
pub(super) fn tell(evidence: &Evidence, case: &Case) -> Vec<String> {
    let job = case.job;
    let mut events: Vec<(Nanos, String)> = Vec::new();
    events.extend(job.accepted.map(|at| (at, format!("accepted: {}", job.body))));
    for attempt in case.history {
        let (number, token, worker) = (attempt.attempt, attempt.run_lease, attempt.worker_id);
        events.push((attempt.started_at, format!("#{token} claimed by worker {worker}")));
        let mut end = format!("#{token} closed as attempt {number}: ");
        let _ = match (&attempt.class, &attempt.code) {
            (Some(class), Some(code)) => {
                let message = attempt.message.as_deref().unwrap_or_default();
                write!(end, "{class}, {code}: {message}")
            }
            _ => write!(end, "success"),
        };
        events.push((attempt.ended_at, end));
    }
    for (token, effects) in case.effects {
        let (Some(first), Some(last)) = (effects.first(), effects.last()) else { continue };
        let (pid, count, number) = (first.pid, effects.len(), first.attempt);
        let traces = format!("trace of #{token} as attempt {number} in pid {pid}");
        events.push((first.at, format!("first {traces}")));
        events.push((last.at, format!("last {traces}, of {count}")));
    }
    for line in evidence.journal.lines_with(&job.id.to_string()) {
        events.push((line.at, format!("{} said: {}", line.name, line.text)));
    }
    for execution in evidence.executions.iter().filter(|it| it.job == job.id) {
        let (token, what) = (execution.run_lease, &execution.what);
        events.push((execution.at, format!("killed for #{token}: {what}")));
    }
    if let Some((from, to)) = span(&events) {
        for fault in &evidence.faults {
            if fault.until >= from - AROUND && fault.at <= to + AROUND {
                events.push((fault.at, format!("FAULT {}: {}", fault.kind, fault.what)));
            }
        }
    }
    events.sort_by_key(|(at, _)| *at);
    let plan = format!("planned: {:?}; cancel: {:?}", job.plan, job.cancel);
    let row = format!("the database: {:?}", case.row);
    let events = events.into_iter().map(|(at, what)| {
        let at = clock::seconds(evidence.start, at);
        format!("{at:9.3} s  {what}")
    });
    [plan, row].into_iter().chain(events).collect()
}

fn span(events: &[(Nanos, String)]) -> Option<(Nanos, Nanos)> {
    let times = || events.iter().map(|(at, _)| *at);
    Some((times().min()?, times().max()?))
}
