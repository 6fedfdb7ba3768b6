//! The workers' half, and the passing of time.

use crate::action::{Action, Slot};
use crate::database::put;
use crate::guards::Guard;
use crate::model::Protocol;
use crate::state::{
    Answer, Attempt, Beat, Job, Late, Lease, MAX_JOBS, Mode, Outcome, Phase, Seat, State, WORKERS,
    Worker, Wrong,
};
use cofferdam_core::class::FailureClass;
use cofferdam_core::state::Event;

impl Protocol {
    /// Carries an action out that is enabled.
    pub(crate) fn step(&self, state: &mut State, action: Action) {
        if !action.is_fair() {
            match action {
                Action::Cancel(_) => state.left.cancels -= 1,
                Action::Drain(_) => state.left.drains -= 1,
                _ => state.left.faults -= 1,
            }
        }
        match action {
            Action::Claim(slot) => Self::claim(state, slot),
            Action::HearClaim(slot) => self.start(state, slot),
            Action::SendBeat(worker) => state.seats(worker).for_each(Seat::send_beat),
            Action::ApplyBeat(worker) => {
                (0..MAX_JOBS).for_each(|job| self.apply_beat(state, Slot { job, worker }));
            }
            Action::HearBeat(worker) => {
                state.seats(worker).for_each(|seat| self.hear_beat(seat));
            }
            Action::EndGuest(slot, outcome) => state.seat(slot).end(outcome),
            Action::Overrun(slot) => state.seat(slot).end(Outcome::Overran),
            Action::HearCancel(slot) => {
                state.jobs[slot.job].notice = None;
                state.seat(slot).end(Outcome::Cancelled);
            }
            Action::Release(slot) => state.seat(slot).end(Outcome::Released),
            // What a guest says whose lease may be lost is thrown away.
            Action::Fence(slot) | Action::LoseClaim(slot) => state.seat(slot).attempt = None,
            Action::Finish(slot) => {
                self.write(state, slot);
                state.seat(slot).attempt = None;
            }
            Action::FinishUnheard(slot) => self.write(state, slot),
            Action::GiveUp(slot) => state.seat(slot).let_go(),
            Action::ApplyLate(slot) => {
                if let Some(late) = state.seat(slot).late.take() {
                    self.finish(state, slot, late.run_lease, late.outcome);
                }
            }
            Action::Promote(job) => put(state, job, Event::Promoted),
            Action::Cancel(job) => self.cancel(state, job),
            Action::RescueStale(job) | Action::RescueGone(job) => {
                self.rescue(state, job, FailureClass::Lost);
            }
            Action::RescueLate(job) => self.rescue(state, job, FailureClass::Deadline),
            Action::ReadStale(leader, job) => {
                let job = &mut state.jobs[job];
                job.noted[leader] = job.lease.map(|lease| lease.run_lease);
            }
            Action::WriteStale(leader, job) => {
                if let Some(read) = state.jobs[job].noted[leader].take() {
                    self.write_stale(state, job, read);
                }
            }
            Action::Drain(worker) => state.workers[worker].draining = true,
            Action::Pause(worker) => state.workers[worker].mode = Mode::Paused,
            Action::Resume(worker) => self.resume(state, worker),
            Action::Crash(worker) | Action::Leave(worker) => crash(state, worker),
            Action::Rejoin(worker) => {
                let incarnation = state.workers[worker].incarnation + 1;
                let mode = Mode::Up;
                state.workers[worker] =
                    Worker { mode, draining: false, incarnation, slipped: false };
            }
            Action::Tick | Action::LateTick => self.tick(state, None),
            Action::SlowTick(worker) => self.tick(state, Some(worker)),
        }
    }

    /// The answer to a claim may come late, and its lease may be lost by then.
    fn start(&self, state: &mut State, slot: Slot) {
        let seat = state.seat(slot);
        if let Some(attempt) = &mut seat.attempt {
            attempt.phase = Phase::Running;
        }
        self.before_turn(seat);
    }

    /// While the process was stopped, time went on.
    fn resume(&self, state: &mut State, worker: usize) {
        state.workers[worker].mode = Mode::Up;
        for job in &mut state.jobs {
            self.before_turn(&mut job.seats[worker]);
        }
    }

    /// What a guest's thread does before it lets the guest run.
    fn before_turn(&self, seat: &mut Seat) {
        let Some(attempt) = seat.attempt.filter(|attempt| attempt.phase == Phase::Running) else {
            return;
        };
        if self.guards.has(Guard::FenceBeforeTurn) {
            if self.must_fence(attempt) {
                seat.attempt = None;
            } else if self.overran(attempt) {
                seat.end(Outcome::Overran);
            }
        }
    }

    fn apply_beat(&self, state: &mut State, slot: Slot) {
        let Some(beat) = state.seat(slot).beat else { return };
        let answer = Some(self.beat(state, slot, beat.run_lease));
        state.seat(slot).beat = Some(Beat { answer, ..beat });
    }

    fn hear_beat(&self, seat: &mut Seat) {
        let (Some(beat), Some(attempt)) = (seat.beat.take(), &mut seat.attempt) else { return };
        let proven = if self.guards.has(Guard::FenceFromSent) { beat.age } else { 0 };
        let running = attempt.phase == Phase::Running;
        match beat.answer {
            Some(Answer::Held) => attempt.age = attempt.age.min(proven),
            Some(Answer::Cancel) if running => seat.end(Outcome::Cancelled),
            Some(Answer::Gone) if running => seat.attempt = None,
            _ => {}
        }
    }

    fn write(&self, state: &mut State, slot: Slot) {
        if let Some(Attempt { run_lease, phase: Phase::Ended(outcome), .. }) =
            state.seat(slot).attempt
        {
            self.finish(state, slot, run_lease, outcome);
        }
    }

    /// One tick of every clock but the slow one. Clocks stand still once nothing depends on them.
    fn tick(&self, state: &mut State, slow: Option<usize>) {
        let Self { clocks, .. } = self;
        let deadline = clocks.deadline;
        if let Some(worker) = slow {
            state.workers[worker].slipped = true;
        }
        for job in &mut state.jobs {
            if let Some(Lease { beat_age, held_for, .. }) = &mut job.lease {
                *beat_age = (*beat_age + 1).min(clocks.staleness + 1);
                let overdue = deadline.map_or(0, |deadline| deadline + clocks.grace + 1);
                *held_for = (*held_for + 1).min(overdue);
            }
            for worker in (0..WORKERS).filter(|worker| Some(*worker) != slow) {
                let seat = &mut job.seats[worker];
                if let Some(attempt) = &mut seat.attempt {
                    attempt.age = (attempt.age + 1).min(clocks.fence);
                    attempt.ran = (attempt.ran + 1).min(deadline.unwrap_or(0));
                }
                if let Some(beat) = &mut seat.beat {
                    beat.age = (beat.age + 1).min(clocks.fence);
                }
            }
        }
    }
}

/// The process ends, and with it everything but the messages it has sent.
fn crash(state: &mut State, worker: usize) {
    let left = &mut state.workers[worker];
    (left.mode, left.draining) = (Mode::Dead, false);
    for Job { seats, .. } in &mut state.jobs {
        seats[worker].let_go();
    }
}

impl Seat {
    fn send_beat(&mut self) {
        let attempt = self.attempt.filter(|attempt| attempt.phase != Phase::Asked);
        let beat = |attempt: Attempt| Beat { run_lease: attempt.run_lease, age: 0, answer: None };
        self.beat = attempt.map(beat);
    }

    fn end(&mut self, outcome: Outcome) {
        if let Some(attempt) = &mut self.attempt {
            attempt.phase = Phase::Ended(outcome);
        }
    }

    /// Nobody waits for the attempt any more. An outcome of it may be on its way.
    fn let_go(&mut self) {
        if let Some(Attempt { run_lease, phase: Phase::Ended(outcome), .. }) = self.attempt.take() {
            self.late = Some(Late { run_lease, outcome });
        }
    }
}

impl State {
    fn seats(&mut self, worker: usize) -> impl Iterator<Item = &mut Seat> {
        self.jobs.iter_mut().map(move |job| &mut job.seats[worker])
    }

    pub(crate) fn seat(&mut self, slot: Slot) -> &mut Seat {
        &mut self.jobs[slot.job].seats[slot.worker]
    }

    pub(crate) fn note(&mut self, happened: bool, what: u8) {
        if happened {
            self.wrong = Wrong(self.wrong.0 | what);
        }
    }
}
