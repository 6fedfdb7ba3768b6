//! When each action can happen.

use crate::action::{Action, Slot};
use crate::guards::Guard;
use crate::model::{Fault, Protocol};
use crate::state::{Attempt, Beat, Job, LEADERS, MAX_JOBS, Mode, Phase, State, WORKERS};

impl Protocol {
    /// Everything that can happen next.
    pub(crate) fn enabled(&self, state: &State, actions: &mut Vec<Action>) {
        for job in 0..MAX_JOBS {
            self.of_job(state, job, actions);
            for worker in 0..WORKERS {
                self.of_seat(state, Slot { job, worker }, actions);
            }
        }
        let working = !state.all_ended();
        for worker in 0..WORKERS {
            Self::of_beats(state, worker, actions);
            if working {
                self.of_worker(state, worker, actions);
            }
        }
        if working && !self.must_act(state) {
            self.of_time(state, actions);
        }
    }

    fn of_time(&self, state: &State, actions: &mut Vec<Action>) {
        let losses = self.may(state, Fault::Loss);
        if !state.has_unheard() {
            actions.push(Action::Tick);
        } else if losses {
            actions.push(Action::LateTick);
        }
        let slow = (0..WORKERS).filter(|worker| {
            losses && !state.workers[*worker].slipped && state.holds_anything(*worker)
        });
        actions.extend(slow.map(Action::SlowTick));
    }

    fn of_job(&self, state: &State, index: usize, actions: &mut Vec<Action>) {
        let job = &state.jobs[index];
        if job.later {
            actions.push(Action::Promote(index));
        }
        if state.left.cancels > 0 && job.ended.is_none() && !job.cancel_accepted {
            actions.push(Action::Cancel(index));
        }
        for leader in 0..LEADERS {
            if job.noted[leader].is_some() {
                actions.push(Action::WriteStale(leader, index));
            }
        }
        let Some(lease) = job.lease else { return };
        if self.guards.has(Guard::StaleRescue) && self.is_stale(lease) {
            if self.guards.has(Guard::RescueInOneTransaction) {
                actions.push(Action::RescueStale(index));
            } else {
                let readers = (0..LEADERS).filter(|leader| job.noted[*leader].is_none());
                actions.extend(readers.map(|leader| Action::ReadStale(leader, index)));
            }
        }
        let worker = state.workers[usize::from(lease.worker)];
        let dead = worker.mode == Mode::Dead || worker.incarnation != lease.incarnation;
        if dead || !self.guards.has(Guard::GoneMeansDead) {
            actions.push(Action::RescueGone(index));
        }
        if self.is_overdue(lease) {
            actions.push(Action::RescueLate(index));
        }
    }

    fn of_seat(&self, state: &State, slot: Slot, actions: &mut Vec<Action>) {
        let job = &state.jobs[slot.job];
        let seat = &job.seats[slot.worker];
        let worker = state.workers[slot.worker];
        let up = worker.mode == Mode::Up;
        let losses = self.may(state, Fault::Loss);

        if up && !worker.draining && seat.attempt.is_none() && self.can_claim(job, slot) {
            actions.push(Action::Claim(slot));
        }
        if seat.late.is_some() {
            actions.push(Action::ApplyLate(slot));
        }
        let Some(attempt) = seat.attempt else { return };
        match attempt.phase {
            Phase::Asked => {
                if up {
                    actions.push(Action::HearClaim(slot));
                }
                if losses {
                    actions.push(Action::LoseClaim(slot));
                }
            }
            Phase::Running if up => {
                if self.must_fence(attempt) {
                    actions.push(Action::Fence(slot));
                }
                if self.overran(attempt) {
                    actions.push(Action::Overrun(slot));
                }
                if worker.draining {
                    actions.push(Action::Release(slot));
                }
                if job.notice == Some(attempt.run_lease) {
                    actions.push(Action::HearCancel(slot));
                }
                let ends = self.endings.iter().map(|outcome| Action::EndGuest(slot, *outcome));
                actions.extend(ends);
            }
            Phase::Ended(_) if up => {
                actions.push(Action::Finish(slot));
                if losses {
                    actions.extend([Action::FinishUnheard(slot), Action::GiveUp(slot)]);
                }
            }
            Phase::Running | Phase::Ended(_) => {}
        }
    }

    fn of_beats(state: &State, worker: usize, actions: &mut Vec<Action>) {
        let up = state.workers[worker].mode == Mode::Up;
        let seats = || state.jobs.iter().map(|job| job.seats[worker]);
        let mut beats = seats().filter_map(|seat| seat.beat);
        match beats.next() {
            Some(Beat { answer: None, .. }) => actions.push(Action::ApplyBeat(worker)),
            Some(_) if up => actions.push(Action::HearBeat(worker)),
            None if up => {
                let mut attempts = seats().filter_map(|seat| seat.attempt);
                // The interval is a tick: a lease that was proven in this one needs no beat.
                if attempts.any(|attempt| attempt.phase != Phase::Asked && attempt.age > 0) {
                    actions.push(Action::SendBeat(worker));
                }
            }
            _ => {}
        }
    }

    fn of_worker(&self, state: &State, index: usize, actions: &mut Vec<Action>) {
        let worker = state.workers[index];
        let crash = self.may(state, Fault::Crash);
        match worker.mode {
            Mode::Up => {
                if self.may(state, Fault::Pause) {
                    actions.push(Action::Pause(index));
                }
                if crash {
                    actions.push(Action::Crash(index));
                }
                if worker.draining {
                    if !state.holds_anything(index) {
                        actions.push(Action::Leave(index));
                    }
                } else if state.left.drains > 0 {
                    actions.push(Action::Drain(index));
                }
            }
            Mode::Paused => {
                actions.push(Action::Resume(index));
                if crash {
                    actions.push(Action::Crash(index));
                }
            }
            Mode::Dead => actions.push(Action::Rejoin(index)),
        }
    }

    /// Without the guard a claimer with an old snapshot takes a job that another one has taken.
    fn can_claim(&self, job: &Job, slot: Slot) -> bool {
        let taken = || job.lease.is_some_and(|lease| usize::from(lease.worker) != slot.worker);
        job.ready || (!self.guards.has(Guard::ClaimExclusive) && taken())
    }

    /// Whether a worker has something to do before the next tick. Its loops look often enough.
    fn must_act(&self, state: &State) -> bool {
        let due = |attempt: Attempt| {
            attempt.phase == Phase::Running && (self.must_fence(attempt) || self.overran(attempt))
        };
        (0..WORKERS).any(|worker| {
            state.workers[worker].mode == Mode::Up
                && state.jobs.iter().any(|job| job.seats[worker].attempt.is_some_and(due))
        })
    }

    pub(crate) fn must_fence(&self, attempt: Attempt) -> bool {
        self.guards.has(Guard::SelfFence) && attempt.age >= self.clocks.fence
    }

    pub(crate) fn overran(&self, attempt: Attempt) -> bool {
        self.clocks.deadline.is_some_and(|deadline| attempt.ran >= deadline)
    }
}

impl State {
    /// Whether a worker that runs has something to send or to hear that takes no tick when all is
    /// well: the answer to a claim, a beat, an outcome.
    fn has_unheard(&self) -> bool {
        (0..WORKERS).filter(|worker| self.workers[*worker].mode == Mode::Up).any(|worker| {
            self.jobs.iter().map(|job| job.seats[worker]).any(|seat| {
                let done = |attempt: Attempt| attempt.phase == Phase::Running && attempt.age == 0;
                seat.beat.is_some() || !seat.attempt.is_none_or(done)
            })
        })
    }

    /// Whether the worker has any attempt in its table or on its way to it.
    pub(crate) fn holds_anything(&self, worker: usize) -> bool {
        self.jobs.iter().any(|job| job.seats[worker].attempt.is_some())
    }
}
