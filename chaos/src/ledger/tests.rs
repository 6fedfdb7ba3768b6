//! Stories of single jobs, for the tests of what is checked.

use super::{Case, Evidence};
use crate::clock::Nanos;
use crate::journal::{Attempts, Effect, Journal};
use crate::rows::{AttemptRow, JobRow, Rows};
use crate::work::{Job, Maker};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A job that was planned to complete, and did, after so many claims.
pub(super) struct Story {
    pub(super) job: Job,
    row: JobRow,
    history: Vec<AttemptRow>,
    effects: Attempts,
}

pub(super) fn effect(at: Nanos, pid: i32) -> Effect {
    Effect { at, attempt: 1, pid }
}

impl Story {
    pub(super) fn new(run_lease: i64) -> Self {
        let mut job = Maker::new(1).good(0, 100);
        job.accepted = Some(0);
        let row = JobRow {
            id: job.id,
            places: 1,
            state: Some("completed".to_owned()),
            attempts: Some(0),
            crashes: Some(0),
            run_lease: Some(run_lease),
            started_at: Some(0),
            reason: None,
        };
        Self { job, row, history: Vec::new(), effects: Attempts::new() }
    }

    pub(super) fn with(mut self, change: impl FnOnce(&mut JobRow)) -> Self {
        change(&mut self.row);
        self
    }

    /// An attempt left these traces.
    pub(super) fn ran(mut self, run_lease: i64, effects: &[Effect]) -> Self {
        self.effects.insert(run_lease, effects.to_vec());
        self
    }

    /// An attempt is in the history.
    pub(super) fn closed(mut self, run_lease: i64, class: Option<&str>) -> Self {
        self.history.push(AttemptRow {
            job_id: self.job.id,
            run_lease,
            attempt: 1,
            worker_id: self.job.id,
            started_at: 0,
            ended_at: 0,
            class: class.map(str::to_owned),
            code: class.map(str::to_owned),
            message: class.map(str::to_owned),
        });
        self
    }

    pub(super) fn case(&self) -> Case<'_> {
        Case {
            job: &self.job,
            row: Some(&self.row),
            history: &self.history,
            effects: &self.effects,
        }
    }
}

/// Of a run in which nothing happened.
pub(super) fn evidence() -> Evidence {
    let (journal, _) = Journal::new();
    let rows = Rows { jobs: BTreeMap::new(), attempts: BTreeMap::new(), leases: 0, checkpoints: 0 };
    Evidence {
        start: 0,
        jobs: BTreeMap::new(),
        rows,
        effects: HashMap::new(),
        faults: Vec::new(),
        executions: Vec::new(),
        kills: Vec::new(),
        journal: Arc::new(journal),
    }
}
