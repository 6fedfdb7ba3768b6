//! Points in time on a clock that a suspended machine does not stop.
//!
//! The monotonic clock stands still while a machine sleeps, and the database's does not: a lease
//! that was good before may be somebody else's after. So the time spent asleep is counted in.

use std::time::{Duration, Instant};

/// A point in time of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    at: Instant,
    /// How long the machine had slept by then since it was started.
    asleep: Duration,
}

impl Moment {
    /// Now.
    pub(crate) fn now() -> Self {
        Self { at: Instant::now(), asleep: asleep() }
    }

    /// The same night's sleep, at another instant: for an instant shortly after this moment that
    /// somebody else took.
    pub(crate) fn at(self, at: Instant) -> Self {
        Self { at, ..self }
    }

    /// The instant.
    pub(crate) fn instant(self) -> Instant {
        self.at
    }

    /// How long ago `earlier` was, time asleep included; zero when it was not earlier.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        let awake = self.at.saturating_duration_since(earlier.at);
        awake.saturating_add(self.asleep.saturating_sub(earlier.asleep))
    }
}

/// How long the machine has slept since it was started: what one clock counts and the other does
/// not. Where there is no such clock, never.
fn asleep() -> Duration {
    #[cfg(target_os = "linux")]
    {
        use nix::time::{ClockId, clock_gettime};
        let read = |clock| clock_gettime(clock).map_or(Duration::ZERO, Duration::from);
        let awake = read(ClockId::CLOCK_MONOTONIC);
        // Read second, so that what passes between the two never counts as negative.
        read(ClockId::CLOCK_BOOTTIME).saturating_sub(awake)
    }
    #[cfg(not(target_os = "linux"))]
    {
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_asleep_counts() {
        // Given a machine that fell asleep for an hour a second after a moment,
        let before = Moment { at: Instant::now(), asleep: Duration::from_mins(5) };
        let after = Moment {
            at: before.at + Duration::from_secs(1),
            asleep: before.asleep + Duration::from_hours(1),
        };
        // then that moment is an hour and a second ago, and the other way around not at all.
        assert_eq!(after.since(before), Duration::from_secs(3601));
        assert_eq!(before.since(after), Duration::ZERO);
    }

    #[test]
    fn awake_the_two_clocks_agree() {
        let before = Moment::now();
        let after = Moment::now();
        assert!(after.since(before) < Duration::from_mins(1));
    }
}
