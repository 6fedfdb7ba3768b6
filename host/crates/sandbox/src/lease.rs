//! How long an attempt may count on its job's lease.

use crate::meter::nanos_between;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A moment that only moves forwards, and that other threads read while it moves.
pub(crate) struct Lease {
    start: Instant,
    /// Nanoseconds after `start`. The largest number is some centuries away: there is no lease.
    nanos: AtomicU64,
}

impl Lease {
    pub(crate) fn new(until: Option<Instant>) -> Self {
        let start = Instant::now();
        let nanos = until.map_or(u64::MAX, |until| nanos_between(start, until));
        Self { start, nanos: AtomicU64::new(nanos) }
    }

    /// When it is over, unless it is renewed.
    pub(crate) fn until(&self) -> Instant {
        let after = Duration::from_nanos(self.nanos.load(Ordering::SeqCst));
        self.start.checked_add(after).unwrap_or(self.start)
    }

    /// Moves its end to `until`. Answers come in any order, so an earlier moment changes nothing.
    pub(crate) fn renew(&self, until: Instant) {
        self.nanos.fetch_max(nanos_between(self.start, until), Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn leases_move_forwards_only() {
        let until = Instant::now() + 10 * SECOND;
        let lease = Lease::new(Some(until));
        lease.renew(until + SECOND);
        lease.renew(until);
        assert_eq!(lease.until(), until + SECOND);
    }

    #[test]
    fn a_lease_may_be_over_before_it_is_known() {
        let now = Instant::now();
        let past = now.checked_sub(SECOND).unwrap_or(now);
        assert!(Lease::new(Some(past)).until() <= Instant::now());
    }

    #[test]
    fn no_lease_is_one_that_is_never_over() {
        let lease = Lease::new(None);
        assert!(lease.until() > Instant::now() + 1_000_000 * SECOND);
        lease.renew(Instant::now());
        assert!(lease.until() > Instant::now() + 1_000_000 * SECOND);
    }
}
