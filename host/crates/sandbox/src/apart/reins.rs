//! The reins of an attempt apart: what other threads tell its supervisor.

use crate::kill::{KillReason, Reins};
use crate::lease::Lease;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// What is wanted of one attempt, and the little that is known of its process.
pub(super) struct ApartReins {
    killed: Mutex<Option<KillReason>>,
    lease: Lease,
    renewals: AtomicU64,
    /// Somebody wants something.
    pulled: Notify,
    born: Instant,
    /// When the child last gave a sign of life, in nanoseconds after `born`.
    pulse: AtomicU64,
    /// The child's process id; 0 before it has one.
    pid: AtomicU32,
}

impl ApartReins {
    pub(super) fn new(lease_until: Option<Instant>) -> Self {
        Self {
            killed: Mutex::default(),
            lease: Lease::new(lease_until),
            renewals: AtomicU64::new(0),
            pulled: Notify::new(),
            born: Instant::now(),
            pulse: AtomicU64::new(0),
            pid: AtomicU32::new(0),
        }
    }

    /// Resolves when something may have changed since it last did.
    pub(super) async fn pulled(&self) {
        self.pulled.notified().await;
    }

    /// Why the attempt is to end, once there is a reason.
    pub(super) fn killed(&self) -> Option<KillReason> {
        *self.killed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the lease is over; centuries away where there is none.
    pub(super) fn lease_until(&self) -> Instant {
        self.lease.until()
    }

    /// How often the lease was renewed.
    pub(super) fn renewals(&self) -> u64 {
        self.renewals.load(Ordering::SeqCst)
    }

    /// The child has given a sign of life.
    pub(super) fn beat(&self, now: Instant) {
        let nanos = now.saturating_duration_since(self.born).as_nanos();
        self.pulse.store(u64::try_from(nanos).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn set_pid(&self, pid: u32) {
        self.pid.store(pid, Ordering::Relaxed);
    }

    /// The process, once there is one.
    pub(super) fn pid(&self) -> Option<u32> {
        Some(self.pid.load(Ordering::Relaxed)).filter(|pid| *pid != 0)
    }
}

impl Reins for ApartReins {
    fn kill(&self, reason: KillReason) {
        self.killed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
        self.pulled.notify_one();
    }

    fn renew_lease(&self, until: Instant) {
        self.lease.renew(until);
        self.renewals.fetch_add(1, Ordering::SeqCst);
        self.pulled.notify_one();
    }

    /// The time since the child's last pulse. One comes about every second unless its guest
    /// thread is stuck, so a few seconds say nothing.
    fn stuck_for(&self) -> Duration {
        let pulse = Duration::from_nanos(self.pulse.load(Ordering::Relaxed));
        self.born.elapsed().saturating_sub(pulse)
    }
}

impl std::fmt::Debug for ApartReins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApartReins")
            .field("pid", &self.pid())
            .field("killed", &self.killed())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_counts() {
        let reins = ApartReins::new(None);
        reins.kill(KillReason::Cancelled);
        reins.kill(KillReason::Shutdown);
        assert_eq!(reins.killed(), Some(KillReason::Cancelled));
    }

    #[test]
    fn a_child_that_gives_no_sign_is_stuck() {
        // Given an attempt that is as old as its last sign of life
        let reins = ApartReins::new(None);
        reins.beat(Instant::now() + Duration::from_mins(1));
        // then it is not stuck before that moment has passed.
        assert_eq!(reins.stuck_for(), Duration::ZERO);
        reins.beat(reins.born);
        assert!(reins.stuck_for() > Duration::ZERO);
    }
}
