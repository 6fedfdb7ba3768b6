//! What there is at one moment: rows, processes, messages on their way.

use crate::model::Budget;
use cofferdam_core::state::JobState;

/// The most jobs that a configuration can have.
pub const MAX_JOBS: usize = 3;
/// How many workers there are.
pub const WORKERS: usize = 2;
/// How many workers believe themselves to be the leader, all the time.
pub const LEADERS: usize = 2;

/// Everything at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct State {
    /// The jobs, with all that concerns each of them anywhere.
    pub jobs: [Job; MAX_JOBS],
    /// The workers' processes.
    pub workers: [Worker; WORKERS],
    /// What may still go wrong.
    pub left: Budget,
    /// What went wrong that must not; never shrinks.
    pub wrong: Wrong,
}

/// A job: its rows, the attempts that workers think they have, and the messages about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Job {
    /// Whether it has a row in `ready`.
    pub ready: bool,
    /// Whether it has a row in `scheduled`, waiting out its backoff.
    pub later: bool,
    /// Its row in `leases`.
    pub lease: Option<Lease>,
    /// Its row in `ended` or `dlq`.
    pub ended: Option<JobState>,
    /// How often it was claimed.
    pub run_lease: u8,
    /// Attempts counted.
    pub attempts: u8,
    /// Crashes counted.
    pub crashes: u8,
    /// A cancel's notification on its way, for this `run_lease`.
    pub notice: Option<u8>,
    /// The `run_lease` that each leader has read as stale and not written yet; only without
    /// `RescueInOneTransaction`.
    pub noted: [Option<u8>; LEADERS],
    /// What each worker knows and has under way.
    pub seats: [Seat; WORKERS],
    /// How often an attempt really failed.
    pub failed: u8,
    /// How often an attempt was really lost.
    pub lost: u8,
    /// Whether an operator was told that it is or will be cancelled.
    pub cancel_accepted: bool,
}

/// A row in `leases`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lease {
    /// The worker.
    pub worker: u8,
    /// Its incarnation.
    pub incarnation: u8,
    /// The fencing token.
    pub run_lease: u8,
    /// Ticks since `heartbeat_at`; stands still once it is stale.
    pub beat_age: u8,
    /// Ticks since `claimed_at`, if there are deadlines; stands still once it is overdue.
    pub held_for: u8,
    /// Whether a cancel was asked for.
    pub cancel: bool,
}

/// A worker's side of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Seat {
    /// The attempt in its table.
    pub attempt: Option<Attempt>,
    /// A beat on its way.
    pub beat: Option<Beat>,
    /// An outcome on its way that the worker has stopped to care about.
    pub late: Option<Late>,
}

/// An attempt in a worker's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Attempt {
    /// Its lease.
    pub run_lease: u8,
    /// How far it is.
    pub phase: Phase,
    /// Ticks since the lease was last proven, by the worker's clock; stands still at the fence.
    pub age: u8,
    /// Ticks since the claim was sent, if there are deadlines; stands still at the deadline.
    pub ran: u8,
}

/// How far an attempt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// The database has made the lease, and the answer is on its way.
    Asked,
    /// The guest has been started.
    Running,
    /// The guest is gone, and its outcome waits to be acknowledged.
    Ended(Outcome),
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// Well.
    Completed,
    /// With a permanent error.
    Permanent,
    /// With a trap.
    Trapped,
    /// At its deadline.
    Overran,
    /// Killed by a cancel.
    Cancelled,
    /// Given back by a drain.
    Released,
}

/// A beat on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Beat {
    /// The lease that it names.
    pub run_lease: u8,
    /// Ticks since it was sent, by the worker's clock.
    pub age: u8,
    /// `None` on the way to the database; on the way back, what it says.
    pub answer: Option<Answer>,
}

/// What the database says to a beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Answer {
    /// The lease is held and renewed.
    Held,
    /// The lease is held and renewed, and its job is to be cancelled.
    Cancel,
    /// There is no such lease.
    Gone,
}

/// An outcome on its way without anybody who waits for the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Late {
    /// The lease that it was made under.
    pub run_lease: u8,
    /// The outcome.
    pub outcome: Outcome,
}

/// A worker's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Worker {
    /// Whether it runs.
    pub mode: Mode,
    /// Whether it takes no more work.
    pub draining: bool,
    /// Which start of it this is.
    pub incarnation: u8,
    /// Whether its clock has lost a tick while it held something.
    pub slipped: bool,
}

/// Whether a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// It runs.
    Up,
    /// It is stopped: neither it nor its guests execute anything, and its clock goes on.
    Paused,
    /// There is no process.
    Dead,
}

/// Things that no state shows by itself, noted when they happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Wrong(pub u8);

impl Wrong {
    /// An outcome was applied that was made under another lease.
    pub const STALE_OUTCOME: u8 = 1;
    /// A lease was renewed by a beat for another lease.
    pub const STALE_BEAT: u8 = 1 << 1;
    /// A lease was taken as stale that was not.
    pub const FRESH_RESCUED: u8 = 1 << 2;
    /// A job moved in a way that `cofferdam_core::state::next` does not know.
    pub const ILLEGAL_MOVE: u8 = 1 << 3;
    /// A job was claimed after its cancel had been accepted.
    pub const CLAIMED_AFTER_CANCEL: u8 = 1 << 4;

    /// An end of an attempt was counted twice, not at all, or past a budget.
    pub const MISCOUNTED: u8 = 1 << 5;

    /// Whether this happened.
    pub const fn has(self, what: u8) -> bool {
        self.0 & what != 0
    }
}

impl Job {
    /// A job that waits to be claimed for the first time.
    pub const SUBMITTED: Self = Self { ready: true, ended: None, ..Self::ENDED };
    /// A job that has nothing before it. Fills the places of those that a configuration leaves out.
    pub const ENDED: Self = Self {
        ready: false,
        later: false,
        lease: None,
        ended: Some(JobState::Completed),
        run_lease: 0,
        attempts: 0,
        crashes: 0,
        notice: None,
        noted: [None; LEADERS],
        seats: [Seat { attempt: None, beat: None, late: None }; WORKERS],
        failed: 0,
        lost: 0,
        cancel_accepted: false,
    };

    /// In how many places it is.
    pub fn places(&self) -> usize {
        let places = [self.ready, self.later, self.lease.is_some(), self.ended.is_some()];
        places.into_iter().filter(|here| *here).count()
    }

    /// The state that its rows stand for; an end counts most.
    pub fn state(&self) -> Option<JobState> {
        let running = self.lease.map(|_| JobState::Running);
        let waits = [(self.ready, JobState::Available), (self.later, JobState::Retryable)];
        let waiting = || waits.into_iter().find_map(|(here, state)| here.then_some(state));
        self.ended.or(running).or_else(waiting)
    }
}

impl State {
    pub(crate) const fn new(jobs: [Job; MAX_JOBS], left: Budget) -> Self {
        let worker = Worker { mode: Mode::Up, draining: false, incarnation: 1, slipped: false };
        Self { jobs, workers: [worker; WORKERS], left, wrong: Wrong(0) }
    }

    /// How many guests of the job execute.
    pub fn executing(&self, job: usize) -> usize {
        let running = |(seat, worker): (&Seat, &Worker)| {
            worker.mode == Mode::Up
                && seat.attempt.is_some_and(|attempt| attempt.phase == Phase::Running)
        };
        self.jobs[job].seats.iter().zip(&self.workers).filter(|pair| running(*pair)).count()
    }

    /// Whether every job has ended.
    pub fn all_ended(&self) -> bool {
        self.jobs.iter().all(|job| job.ended.is_some())
    }
}
