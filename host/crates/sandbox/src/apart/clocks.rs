//! The moments at which the parent acts by itself, whatever its child says or does not say.

use std::time::{Duration, Instant};

/// How long a new process may take to greet, its sandbox started. Generous, for busy machines: it
/// only bounds how long an executable that is none of ours is waited for.
const GREETING: Duration = Duration::from_secs(20);

/// How long a child may take to report after it was asked to end.
const KILL_GRACE: Duration = Duration::from_millis(100);

/// How long it may take to report after its deadline: the guest is ended by then, and the lines of
/// its backtrace are being looked up, which is given one second.
const DEADLINE_GRACE: Duration = Duration::from_secs(2);

/// How long what a dead process has written is waited for. Another process may hold the pipe.
const DRAIN: Duration = Duration::from_millis(500);

/// What it is time for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// The process has not greeted.
    Greeting,
    /// The lease is over.
    Lease,
    /// The deadline has passed, and the time to say so.
    Deadline,
    /// The child was asked to end, and has not.
    Kill,
    /// The process is dead, and what it wrote does not end.
    Drain,
}

/// The clocks of one attempt.
#[derive(Debug)]
pub(super) struct Clocks {
    started: Instant,
    /// The most of the preparation that is not counted.
    preparation: Duration,
    /// The attempt's deadline as whoever holds the lease knows it.
    deadline: Instant,
    greet_by: Option<Instant>,
    /// What of the preparation is not counted, once it is over.
    allowance: Option<Duration>,
    kill_by: Option<Instant>,
    drain_by: Option<Instant>,
}

impl Clocks {
    pub(super) fn new(now: Instant, deadline: Instant, preparation: Duration) -> Self {
        Self {
            started: now,
            preparation,
            deadline,
            greet_by: Some(now + GREETING),
            allowance: None,
            kill_by: None,
            drain_by: None,
        }
    }

    /// The child has greeted.
    pub(super) fn greeted(&mut self) {
        self.greet_by = None;
    }

    /// The component is compiled: the attempt starts.
    pub(super) fn prepared(&mut self, now: Instant) {
        let took = now.saturating_duration_since(self.started);
        self.allowance = Some(took.min(self.preparation));
    }

    /// How much of the deadline remains for the guest.
    pub(super) fn remaining(&self, now: Instant) -> Duration {
        self.ends().map_or(Duration::MAX, |ends| ends.saturating_duration_since(now))
    }

    /// When the guest's time is over; never where no clock can hold it.
    fn ends(&self) -> Option<Instant> {
        self.deadline.checked_add(self.allowance.unwrap_or(self.preparation))
    }

    /// The deadline was moved: so much remained at `asked`.
    pub(super) fn extended(&mut self, asked: Instant, remaining: Duration) {
        // A time that no clock can hold is as good as the present deadline.
        if let Some(at) = asked.checked_add(remaining) {
            self.deadline = at;
        }
    }

    /// The child was asked to end.
    pub(super) fn asked_to_end(&mut self, now: Instant) {
        self.kill_by.get_or_insert(now + KILL_GRACE);
    }

    /// The process has ended.
    pub(super) fn exited(&mut self, now: Instant) {
        self.drain_by.get_or_insert(now + DRAIN);
    }

    /// The next moment to act at, and what for.
    pub(super) fn next(&self, lease_until: Instant) -> (Instant, Alarm) {
        // Before the guest runs there is nothing to report.
        let grace = if self.allowance.is_some() { DEADLINE_GRACE } else { Duration::ZERO };
        let clocks = [
            (self.greet_by, Alarm::Greeting),
            (Some(lease_until), Alarm::Lease),
            (self.ends().and_then(|at| at.checked_add(grace)), Alarm::Deadline),
            (self.kill_by, Alarm::Kill),
            (self.drain_by, Alarm::Drain),
        ];
        let set = clocks.into_iter().filter_map(|(at, alarm)| Some((at?, alarm)));
        set.min_by_key(|(at, _)| *at).unwrap_or((lease_until, Alarm::Lease))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const HOUR: Duration = Duration::from_hours(1);

    /// Clocks of an attempt with a minute, at whose preparation ten seconds are not counted.
    fn clocks(now: Instant) -> Clocks {
        let mut clocks = Clocks::new(now, now + 60 * SECOND, 10 * SECOND);
        clocks.greeted();
        clocks
    }

    #[test]
    fn a_process_that_does_not_greet_is_not_waited_for() {
        let now = Instant::now();
        let clocks = Clocks::new(now, now + HOUR, SECOND);
        assert_eq!(clocks.next(now + HOUR), (now + GREETING, Alarm::Greeting));
    }

    #[test]
    fn compiling_does_not_eat_the_deadline_up() {
        // Given an attempt whose component took four seconds
        let now = Instant::now();
        let mut clocks = clocks(now);
        let ready = now + 4 * SECOND;
        clocks.prepared(ready);
        // then it has its whole minute left,
        assert_eq!(clocks.remaining(ready), 60 * SECOND);
        let ends = ready + 60 * SECOND + DEADLINE_GRACE;
        assert_eq!(clocks.next(now + HOUR), (ends, Alarm::Deadline));
        // also when the deadline is moved to what whoever holds the lease believes.
        clocks.extended(ready, 90 * SECOND);
        assert_eq!(clocks.remaining(ready), 94 * SECOND);
    }

    #[test]
    fn compiling_for_ever_does() {
        // Given an attempt whose component took longer than is allowed for
        let now = Instant::now();
        let mut clocks = clocks(now);
        assert_eq!(clocks.next(now + HOUR), (now + 70 * SECOND, Alarm::Deadline));
        clocks.prepared(now + 30 * SECOND);
        // then what is over it is the attempt's own time.
        assert_eq!(clocks.remaining(now + 30 * SECOND), 40 * SECOND);
        assert_eq!(clocks.remaining(now + HOUR), Duration::ZERO);
    }

    #[test]
    fn the_first_alarm_counts() {
        let now = Instant::now();
        let mut clocks = clocks(now);
        clocks.prepared(now);
        assert_eq!(clocks.next(now + SECOND), (now + SECOND, Alarm::Lease));
        clocks.asked_to_end(now);
        clocks.asked_to_end(now + SECOND);
        assert_eq!(clocks.next(now + SECOND), (now + KILL_GRACE, Alarm::Kill));
    }

    #[test]
    fn a_deadline_past_all_clocks_is_the_present_one() {
        let now = Instant::now();
        let mut clocks = clocks(now);
        clocks.prepared(now);
        clocks.extended(now, Duration::MAX);
        assert_eq!(clocks.remaining(now), 60 * SECOND);
    }
}
