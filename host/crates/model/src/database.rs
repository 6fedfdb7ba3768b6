//! The database's half: each function is one statement or one transaction.

use crate::action::Slot;
use crate::guards::Guard;
use crate::model::Protocol;
use crate::state::{Answer, Attempt, Job, Lease, Outcome, Phase, State, Wrong};
use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::{Counters, RetryPolicy, fail_attempt};
use cofferdam_core::outcome::RetryAdvice;
use cofferdam_core::state::{Event, JobState, next};

impl Protocol {
    pub(crate) fn is_stale(&self, lease: Lease) -> bool {
        lease.beat_age > self.clocks.staleness
    }

    pub(crate) fn is_overdue(&self, lease: Lease) -> bool {
        self.clocks.deadline.is_some_and(|deadline| lease.held_for > deadline + self.clocks.grace)
    }

    /// The claim, and the worker's note that it has asked.
    pub(crate) fn claim(state: &mut State, slot: Slot) {
        let incarnation = state.workers[slot.worker].incarnation;
        let job = &mut state.jobs[slot.job];
        let legal = moved(job, Event::Claimed).is_some();
        let run_lease = job.run_lease + 1;
        job.run_lease = run_lease;
        job.ready = false;
        job.lease = Some(Lease {
            worker: u8::from(slot.worker == 1),
            incarnation,
            run_lease,
            beat_age: 0,
            held_for: 0,
            cancel: false,
        });
        let asked = Attempt { run_lease, phase: Phase::Asked, age: 0, ran: 0 };
        job.seats[slot.worker].attempt = Some(asked);
        let again = job.cancel_accepted;
        state.note(!legal, Wrong::ILLEGAL_MOVE);
        state.note(again, Wrong::CLAIMED_AFTER_CANCEL);
    }

    /// A beat for a lease of the worker's.
    pub(crate) fn beat(&self, state: &mut State, slot: Slot, run_lease: u8) -> Answer {
        let Some(lease) = &mut state.jobs[slot.job].lease else { return Answer::Gone };
        let own = lease.run_lease == run_lease && usize::from(lease.worker) == slot.worker;
        if !own && self.guards.has(Guard::BeatFenced) {
            return Answer::Gone;
        }
        lease.beat_age = 0;
        let answer = if lease.cancel { Answer::Cancel } else { Answer::Held };
        state.note(!own, Wrong::STALE_BEAT);
        answer
    }

    /// An outcome that a worker writes.
    pub(crate) fn finish(&self, state: &mut State, slot: Slot, run_lease: u8, outcome: Outcome) {
        let lease = state.jobs[slot.job].lease;
        // A message may outlive its worker's incarnation; the token alone identifies the lease.
        let own = lease.is_some_and(|lease| lease.run_lease == run_lease);
        if own || !self.guards.has(Guard::FinishFenced) {
            state.note(!own, Wrong::STALE_OUTCOME);
            self.settle(state, slot.job, outcome_class(outcome), &self.policy());
        }
    }

    /// A rescue for a reason, of whatever lease there is.
    pub(crate) fn rescue(&self, state: &mut State, job: usize, class: FailureClass) {
        let mut policy = self.policy();
        if !self.guards.has(Guard::CrashBudget) {
            policy.max_crashes = u32::MAX;
        }
        self.settle(state, job, Some(class), &policy);
    }

    /// The second half of a rescue that is not one transaction.
    pub(crate) fn write_stale(&self, state: &mut State, job: usize, read: u8) {
        let Some(lease) = state.jobs[job].lease else { return };
        if lease.run_lease == read || !self.guards.has(Guard::RescueFenced) {
            state.note(!self.is_stale(lease), Wrong::FRESH_RESCUED);
            self.rescue(state, job, FailureClass::Lost);
        }
    }

    /// A cancel: at once where the job waits, as an intent where it runs.
    pub(crate) fn cancel(&self, state: &mut State, index: usize) {
        let job = &mut state.jobs[index];
        job.cancel_accepted = true;
        match &mut job.lease {
            Some(lease) => {
                lease.cancel = self.guards.has(Guard::DurableCancel);
                job.notice = Some(lease.run_lease);
            }
            None => put(state, index, Event::Cancelled),
        }
    }

    /// Takes the lease away and puts the job where the core says.
    fn settle(
        &self,
        state: &mut State,
        index: usize,
        class: Option<FailureClass>,
        policy: &RetryPolicy,
    ) {
        let job = &mut state.jobs[index];
        let cancelled = job.lease.is_some_and(|lease| lease.cancel);
        let event = match class {
            None => Event::Succeeded,
            Some(class) => {
                match class {
                    FailureClass::Lost => job.lost += 1,
                    FailureClass::Released | FailureClass::Cancelled => {}
                    _ => job.failed += 1,
                }
                let before =
                    Counters { attempts: job.attempts.into(), crashes: job.crashes.into() };
                let verdict = fail_attempt(class, RetryAdvice::Default, before, policy, 0.5);
                job.attempts = small(verdict.counters.attempts);
                job.crashes = small(verdict.counters.crashes);
                let counted = (job.attempts, job.crashes) == (job.failed, job.lost);
                let within = job.failed <= self.max_attempts && job.lost <= self.max_crashes;
                state.note(!counted || !within, Wrong::MISCOUNTED);
                let legal = next(JobState::Running, verdict.event) == Ok(verdict.state);
                state.note(!legal, Wrong::ILLEGAL_MOVE);
                verdict.event
            }
        };
        put(state, index, if cancelled { Event::Cancelled } else { event });
    }
}

/// Moves the job's row. A statement that does not look whether there is a row to move still
/// inserts one, and so one job becomes two.
pub(crate) fn put(state: &mut State, index: usize, event: Event) {
    let job = &mut state.jobs[index];
    let legal = moved(job, event);
    if legal.is_some() {
        (job.ready, job.later) = (false, false);
    }
    job.lease = None;
    match legal.or_else(|| next(JobState::Running, event).ok()) {
        Some(JobState::Available) => job.ready = true,
        Some(JobState::Retryable) => job.later = true,
        end => job.ended = end.or(job.ended),
    }
    state.note(legal.is_none(), Wrong::ILLEGAL_MOVE);
}

fn moved(job: &Job, event: Event) -> Option<JobState> {
    next(job.state()?, event).ok()
}

fn outcome_class(outcome: Outcome) -> Option<FailureClass> {
    match outcome {
        Outcome::Completed => None,
        Outcome::Permanent => Some(FailureClass::Permanent),
        Outcome::Trapped => Some(FailureClass::Trap),
        Outcome::Overran => Some(FailureClass::Deadline),
        Outcome::Cancelled => Some(FailureClass::Cancelled),
        Outcome::Released => Some(FailureClass::Released),
    }
}

fn small(count: u32) -> u8 {
    u8::try_from(count).unwrap_or(u8::MAX)
}
