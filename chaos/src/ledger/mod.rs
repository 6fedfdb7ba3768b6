//! The account of a run: what was asked for, what the database says, and what was seen to happen
//! must fit together.

mod cancels;
mod ends;
mod figures;
mod history;
mod overlaps;
#[cfg(test)]
mod tests;

use crate::clock::Nanos;
use crate::executioner::Execution;
use crate::faults::Injected;
use crate::journal::{Attempts, Journal};
use crate::report::{Report, Violation};
use crate::rows::{AttemptRow, JobRow, Rows};
use crate::work::Job;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use uuid::Uuid;

/// Everything that is known when a run is over.
pub struct Evidence {
    /// When it started.
    pub start: Nanos,
    /// What was submitted.
    pub jobs: BTreeMap<Uuid, Job>,
    /// What the database says.
    pub rows: Rows,
    /// What was seen to happen.
    pub effects: HashMap<Uuid, Attempts>,
    /// What was done to the platform.
    pub faults: Vec<Injected>,
    /// What was done for the sake of poison.
    pub executions: Vec<Execution>,
    /// When which process was killed.
    pub kills: Vec<(i32, Nanos)>,
    /// The logs.
    pub journal: Arc<Journal>,
}

/// Everything that is known of one job.
#[derive(Clone, Copy)]
struct Case<'a> {
    job: &'a Job,
    row: Option<&'a JobRow>,
    history: &'a [AttemptRow],
    effects: &'a Attempts,
}

impl Case<'_> {
    fn state(&self) -> &str {
        self.row.and_then(|row| row.state.as_deref()).unwrap_or("nowhere")
    }

    fn run_lease(&self) -> i64 {
        self.row.and_then(|row| row.run_lease).unwrap_or(0)
    }
}

impl Evidence {
    /// Checks everything, and adds up what there is to tell.
    pub fn check(&self, report: &mut Report) {
        let none = Attempts::new();
        let case = |job| self.case(job, &none);
        let cases: Vec<_> = self.jobs.values().map(case).collect();
        for case in &cases {
            let (overlaps, lost) = (overlaps::check(case), ends::lost(case));
            report.overlaps += overlaps.len();
            report.lost += lost.len();
            let wrong = [overlaps, lost, ends::check(case), cancels::check(case)].concat();
            if !wrong.is_empty() {
                let what = format!("job {}: {}", case.job.id, wrong.join("; "));
                report.violations.push(Violation { what, history: history::tell(self, case) });
            }
        }
        report.violations.extend(self.strays());
        figures::add(self, &cases, report);
    }

    fn case<'a>(&'a self, job: &'a Job, none: &'a Attempts) -> Case<'a> {
        Case {
            job,
            row: self.rows.jobs.get(&job.id),
            history: self.rows.attempts.get(&job.id).map_or(&[], Vec::as_slice),
            effects: self.effects.get(&job.id).unwrap_or(none),
        }
    }

    /// What is left that must not be, and what nobody asked for.
    fn strays(&self) -> Vec<Violation> {
        let mut strays = Vec::new();
        let mut stray = |what: String| strays.push(Violation { what, history: Vec::new() });
        if self.rows.leases > 0 {
            stray(format!("{} leases are left", self.rows.leases));
        }
        if self.rows.checkpoints > 0 {
            stray(format!(
                "{} checkpoints of jobs that have ended are left",
                self.rows.checkpoints
            ));
        }
        for id in self.rows.jobs.keys().filter(|id| !self.jobs.contains_key(id)) {
            stray(format!("job {id} was submitted by nobody"));
        }
        for id in self.effects.keys().filter(|id| !self.jobs.contains_key(id)) {
            stray(format!("job {id} ran, but was submitted by nobody"));
        }
        for defect in self.journal.defects() {
            stray(defect);
        }
        strays
    }
}
