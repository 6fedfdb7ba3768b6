//! What must always hold, and what must be possible for that to mean anything.

use crate::model::{Fault, Protocol};
use crate::state::{Job, MAX_JOBS, Mode, Phase, Seat, State, Wrong};
use stateright::Property;

/// The names of the properties.
pub mod name {
    /// At most one guest of a job executes.
    pub const ONE_ATTEMPT: &str = "at most one attempt of a job runs at any time";
    /// Outcomes are fenced.
    pub const NO_STALE_OUTCOME: &str = "no outcome of an old lease is applied";
    /// Beats are fenced.
    pub const RENEWED_BY_HOLDER: &str = "a lease is renewed by its holder alone";
    /// No job is lost or doubled.
    pub const ONE_PLACE: &str = "a job is in exactly one place";
    /// Every transition is one of the core's.
    pub const LEGAL_MOVES: &str = "a job moves as the state machine says";
    /// Counters say what happened, and budgets are kept.
    pub const COUNTED: &str = "attempts and crashes are counted once and within their budgets";
    /// A lease that has been renewed is left alone.
    pub const ONLY_STALE_RESCUED: &str = "what is rescued as stale is stale";
    /// A cancel outlives the worker.
    pub const CANCEL_HOLDS: &str = "a cancelled job is never claimed again";
}

pub(crate) fn all(model: &Protocol) -> Vec<Property<Protocol>> {
    let mut properties = vec![
        Property::always(name::ONE_ATTEMPT, |_, state: &State| {
            (0..MAX_JOBS).all(|job| state.executing(job) <= 1)
        }),
        Property::always(name::ONE_PLACE, |_, state: &State| {
            state.jobs.iter().all(|job| job.places() == 1)
        }),
        Property::always(name::COUNTED, |_, state: &State| !state.wrong.has(Wrong::MISCOUNTED)),
        Property::always(name::NO_STALE_OUTCOME, |_, state: &State| {
            !state.wrong.has(Wrong::STALE_OUTCOME)
        }),
        Property::always(name::RENEWED_BY_HOLDER, |_, state: &State| {
            !state.wrong.has(Wrong::STALE_BEAT)
        }),
        Property::always(name::ONLY_STALE_RESCUED, |_, state: &State| {
            !state.wrong.has(Wrong::FRESH_RESCUED)
        }),
        Property::always(name::LEGAL_MOVES, |_, state: &State| {
            !state.wrong.has(Wrong::ILLEGAL_MOVE)
        }),
        Property::always(name::CANCEL_HOLDS, |_, state: &State| {
            !state.wrong.has(Wrong::CLAIMED_AFTER_CANCEL)
        }),
    ];
    properties.extend(model.possible());
    properties
}

impl Protocol {
    /// Situations that the guards are there for. A model in which they cannot come about would
    /// prove nothing.
    fn possible(&self) -> Vec<Property<Self>> {
        let mut possible =
            vec![Property::sometimes("every job has ended", |_, state: &State| state.all_ended())];
        if self.budget.faults == 0 {
            return possible;
        }
        if self.faults.contains(&Fault::Pause) {
            possible.push(Property::sometimes(
                "a stopped worker holds what another one runs",
                |_, state: &State| (0..MAX_JOBS).any(|job| state.taken_over(job)),
            ));
        }
        // Without an end there is no outcome.
        if self.keep_stale && self.faults.contains(&Fault::Crash) && !self.endings.is_empty() {
            possible.push(Property::sometimes(
                "a late outcome meets a newer lease",
                |_, state: &State| state.jobs.iter().any(Job::has_late),
            ));
        }
        possible
    }
}

impl State {
    /// Whether a stopped worker believes that it runs the job, and another one does.
    fn taken_over(&self, job: usize) -> bool {
        let holds = |seat: &Seat| seat.attempt.is_some_and(|it| it.phase == Phase::Running);
        let mut seats = self.workers.iter().zip(&self.jobs[job].seats);
        let stopped = seats.any(|(worker, seat)| worker.mode == Mode::Paused && holds(seat));
        stopped && self.executing(job) == 1
    }
}

impl Job {
    /// Whether an outcome of an earlier lease is on its way.
    fn has_late(&self) -> bool {
        let mut late = self.seats.iter().filter_map(|seat| seat.late);
        self.lease.is_some_and(|lease| late.any(|late| late.run_lease != lease.run_lease))
    }
}
