//! States that differ in nothing that matters are one: in the names of jobs and workers, in
//! numbers of leases that are over, in clocks that nobody reads any more.

use crate::model::Protocol;
use crate::state::{Beat, Job, Phase, Seat, State, WORKERS};

impl Protocol {
    /// Sets to one value what nothing depends on any more, so that states do not differ by it.
    pub(crate) fn forget(&self, state: &mut State) {
        for worker in 0..WORKERS {
            if !state.holds_anything(worker) {
                state.workers[worker].slipped = false;
            }
        }
        for job in &mut state.jobs {
            let current = job.lease.map(|lease| lease.run_lease);
            job.notice = job.notice.filter(|notice| Some(*notice) == current);
            let kept = |run_lease| self.keep_stale || Some(run_lease) == current;
            for seat in &mut job.seats {
                seat.late = seat.late.filter(|late| kept(late.run_lease));
                self.forget_seat(seat);
                seat.beat = seat.beat.filter(|beat| beat.answer.is_some() || kept(beat.run_lease));
            }
        }
    }

    fn forget_seat(&self, seat: &mut Seat) {
        if let Some(attempt) = &mut seat.attempt
            && matches!(attempt.phase, Phase::Ended(_))
        {
            (attempt.age, attempt.ran) = (attempt.age.min(1), 0);
        }
        let heard =
            |beat: Beat| seat.attempt.is_some_and(|attempt| attempt.run_lease == beat.run_lease);
        // Nobody hears the answer, but the beat itself still arrives.
        if let Some(beat) = seat.beat.filter(|beat| !heard(*beat)) {
            seat.beat = match beat.answer {
                None => Some(Beat { age: self.clocks.fence, ..beat }),
                Some(_) => None,
            };
        }
    }

    /// The one of the equivalent states that stands for all of them.
    pub(crate) fn canonical(&self, mut state: State) -> State {
        if !self.reduce {
            return state;
        }
        state.renumber();
        let mut swapped = state.swapped();
        state.jobs.sort_unstable();
        swapped.jobs.sort_unstable();
        state.min(swapped)
    }
}

impl State {
    /// Of the numbers of leases and incarnations it matters only which is the newest.
    fn renumber(&mut self) {
        for job in &mut self.jobs {
            if let Some(lease) = &mut job.lease {
                let newest = self.workers[usize::from(lease.worker)].incarnation;
                lease.incarnation = u8::from(lease.incarnation == newest);
            }
            job.renumber();
            job.bury();
        }
        for worker in &mut self.workers {
            worker.incarnation = 1;
        }
    }

    /// The same with the workers' names exchanged.
    fn swapped(mut self) -> Self {
        self.workers.reverse();
        for job in &mut self.jobs {
            job.seats.reverse();
            if let Some(lease) = &mut job.lease {
                lease.worker = u8::from(lease.worker == 0);
            }
        }
        self
    }
}

impl Job {
    /// What has ended is left with what may still reach it.
    fn bury(&mut self) {
        if self.ended.is_some() && self.places() == 1 {
            *self = Self { run_lease: self.run_lease, seats: self.seats, ..Self::ENDED };
        }
        if self.lease.is_none() && self.seats == Self::ENDED.seats {
            self.run_lease = 0;
        }
    }

    fn renumber(&mut self) {
        let newest = self.run_lease;
        let number = |run_lease: u8| u8::from(run_lease == newest);
        self.run_lease = newest.min(1);
        if newest == 0 {
            return;
        }
        if let Some(lease) = &mut self.lease {
            lease.run_lease = number(lease.run_lease);
        }
        self.notice = self.notice.map(number);
        self.noted = self.noted.map(|noted| noted.map(number));
        self.noted.sort_unstable();
        for Seat { attempt, beat, late } in &mut self.seats {
            let attempt = attempt.as_mut().map(|attempt| &mut attempt.run_lease);
            let beat = beat.as_mut().map(|beat| &mut beat.run_lease);
            let late = late.as_mut().map(|late| &mut late.run_lease);
            for run_lease in [attempt, beat, late].into_iter().flatten() {
                *run_lease = number(*run_lease);
            }
        }
    }
}

const _: () = assert!(WORKERS == 2, "workers are exchanged, not permuted");
