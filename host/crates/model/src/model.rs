//! The protocol as stateright sees it: how it starts, what can happen, what must hold.

use crate::action::Action;
use crate::guards::Guards;
use crate::properties;
use crate::state::{Job, MAX_JOBS, Outcome, State};
use cofferdam_core::fail::RetryPolicy;
use cofferdam_core::retry::Backoff;
use stateright::{Model, Property};
use std::time::Duration;

/// Durations, in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// A heartbeat that is older than this is stale, by the database's clock.
    pub staleness: u8,
    /// An attempt whose lease was last proven this long ago is killed, by the worker's clock. One
    /// less than `staleness`, because that clock may lose a tick.
    pub fence: u8,
    /// How long an attempt may run; `None`: as long as it likes.
    pub deadline: Option<u8>,
    /// How long past the deadline a lease is left to its worker.
    pub grace: u8,
}

impl Default for Clocks {
    fn default() -> Self {
        Self { staleness: 3, fence: 2, deadline: None, grace: 1 }
    }
}

/// How much may go wrong, and how often an operator may act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Budget {
    /// Crashes, pauses, lost answers, outcomes given up and ticks lost by a clock, taken together.
    pub faults: u8,
    /// Cancels.
    pub cancels: u8,
    /// Drains.
    pub drains: u8,
}

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A process dies.
    Crash,
    /// A process is stopped for a while.
    Pause,
    /// A message is late or lost, or a clock misses a tick.
    Loss,
}

/// A configuration of the model.
#[derive(Clone, Debug)]
pub struct Protocol {
    /// How many jobs there are, up to [`MAX_JOBS`].
    pub jobs: usize,
    /// What may go wrong.
    pub budget: Budget,
    /// The durations.
    pub clocks: Clocks,
    /// Which faults there are.
    pub faults: &'static [Fault],
    /// How guests may end by themselves.
    pub endings: &'static [Outcome],
    /// Attempts in all.
    pub max_attempts: u8,
    /// Lost attempts in all.
    pub max_crashes: u8,
    /// The guards in place.
    pub guards: Guards,
    /// Whether a failed attempt waits before the next.
    pub backoff: bool,
    /// Whether messages that nobody waits for are followed although their lease is over. With
    /// `FinishFenced` and `BeatFenced` their arrival changes nothing, so a large configuration may
    /// do without.
    pub keep_stale: bool,
    /// Whether states that differ only in names are one. Paths are easier to read without.
    pub reduce: bool,
}

impl Protocol {
    /// A configuration with every guard and two attempts and two crashes a job.
    pub fn new(jobs: usize, budget: Budget) -> Self {
        Self {
            jobs,
            budget,
            clocks: Clocks::default(),
            faults: &[Fault::Crash, Fault::Pause, Fault::Loss],
            endings: &[Outcome::Completed, Outcome::Trapped],
            max_attempts: 2,
            max_crashes: 2,
            guards: Guards::ALL,
            backoff: true,
            keep_stale: true,
            reduce: true,
        }
    }

    /// Whether a fault of this kind may happen now.
    pub(crate) fn may(&self, state: &State, fault: Fault) -> bool {
        state.left.faults > 0 && self.faults.contains(&fault)
    }

    pub(crate) fn policy(&self) -> RetryPolicy {
        RetryPolicy {
            max_attempts: self.max_attempts.into(),
            max_crashes: self.max_crashes.into(),
            backoff: if self.backoff {
                Backoff::Constant(Duration::from_secs(1))
            } else {
                Backoff::None
            },
            retry_classes: Vec::new(),
        }
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let mut jobs = [Job::ENDED; MAX_JOBS];
        jobs.iter_mut().take(self.jobs).for_each(|job| *job = Job::SUBMITTED);
        vec![self.canonical(State::new(jobs, self.budget))]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.enabled(state, actions);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = *last;
        self.step(&mut state, action);
        self.forget(&mut state);
        let state = self.canonical(state);
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all(self)
    }
}
