//! What an attempt has used so far, readable while its store is out of reach.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Counters of one attempt.
#[derive(Default)]
pub(crate) struct Meter {
    fuel: AtomicU64,
    cpu_micros: AtomicU64,
    cpu_rest_nanos: AtomicU64,
    peak_memory: AtomicU64,
}

impl Meter {
    /// Fuel used so far.
    pub(crate) fn set_fuel(&self, used: u64) {
        self.fuel.fetch_max(used, Ordering::Relaxed);
    }

    /// A turn took this much CPU time.
    pub(crate) fn add_cpu(&self, time: Duration) {
        // Turns can be shorter than a microsecond, so what is below one is carried over.
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let nanos = nanos.saturating_add(self.cpu_rest_nanos.load(Ordering::Relaxed));
        self.cpu_rest_nanos.store(nanos % 1_000, Ordering::Relaxed);
        self.cpu_micros.fetch_add(nanos / 1_000, Ordering::Relaxed);
    }

    /// The sum of the linear memories is this many bytes now.
    pub(crate) fn memory(&self, bytes: u64) {
        self.peak_memory.fetch_max(bytes, Ordering::Relaxed);
    }

    pub(crate) fn fuel(&self) -> u64 {
        self.fuel.load(Ordering::Relaxed)
    }

    pub(crate) fn cpu_micros(&self) -> u64 {
        self.cpu_micros.load(Ordering::Relaxed)
    }

    pub(crate) fn peak_memory(&self) -> u64 {
        self.peak_memory.load(Ordering::Relaxed)
    }
}

/// A deadline that a host call may move while others read it.
pub(crate) struct Deadline {
    start: Instant,
    /// Nanoseconds after `start`, at first and now.
    first: u64,
    nanos: AtomicU64,
}

impl Deadline {
    pub(crate) fn new(start: Instant, at: Instant) -> Self {
        let first = nanos_between(start, at);
        Self { start, first, nanos: AtomicU64::new(first) }
    }

    /// When it is.
    pub(crate) fn at(&self) -> Instant {
        let after = Duration::from_nanos(self.nanos.load(Ordering::SeqCst));
        self.start.checked_add(after).unwrap_or(self.start)
    }

    /// How long it is until then.
    pub(crate) fn left(&self) -> Duration {
        self.at().saturating_duration_since(Instant::now())
    }

    /// Moves it.
    pub(crate) fn set(&self, at: Instant) {
        self.nanos.store(nanos_between(self.start, at), Ordering::SeqCst);
    }

    /// Whether it is not where it was at first.
    pub(crate) fn was_moved(&self) -> bool {
        self.nanos.load(Ordering::SeqCst) != self.first
    }
}

pub(crate) fn nanos_between(start: Instant, at: Instant) -> u64 {
    u64::try_from(at.saturating_duration_since(start).as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_turns_add_up() {
        let meter = Meter::default();
        for _ in 0..10 {
            meter.add_cpu(Duration::from_nanos(250));
        }
        assert_eq!(meter.cpu_micros(), 2);
    }

    #[test]
    fn deadlines_move() {
        let start = Instant::now();
        let deadline = Deadline::new(start, start + Duration::from_secs(1));
        assert!(!deadline.was_moved());
        deadline.set(start + Duration::from_secs(5));
        assert!(deadline.was_moved());
        assert_eq!(deadline.at(), start + Duration::from_secs(5));
    }
}
