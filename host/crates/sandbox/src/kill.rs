//! Ending an attempt from outside.

use crate::inbox::Inbox;
use crate::lease::Lease;
use crate::task::TaskId;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// The reasons as numbers; 0 is none.
const CANCELLED: u8 = 1;
const LEASE_LOST: u8 = 2;
const SHUTDOWN: u8 = 3;

/// Why an attempt was ended from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillReason {
    /// Someone cancelled the job. The outcome is `cancelled`.
    Cancelled,
    /// The attempt does not hold its job's lease any more. The outcome is `lost`.
    LeaseLost,
    /// The worker stops. The outcome is `released`.
    Shutdown,
}

/// What whoever holds the lease of an attempt can do to it, wherever it runs. None of these block.
pub trait Reins: Send + Sync + std::fmt::Debug {
    /// Ends the attempt: at the guest's next tick when it runs, at once when it waits. The first
    /// reason counts; later calls, and calls after the attempt's end, do nothing.
    fn kill(&self, reason: KillReason);

    /// The lease is good until then. It never gets shorter, and an attempt that has been ended
    /// does not come back.
    fn renew_lease(&self, until: Instant);

    /// How long whatever runs the attempt has been out of reach: inside one turn of a guest. More
    /// than a few seconds mean that a kill does not get through.
    fn stuck_for(&self) -> Duration;
}

/// Ends one attempt. Copies end the same attempt.
#[derive(Clone)]
pub struct KillSwitch(Arc<Switch>);

struct Switch {
    /// 0, or a reason.
    reason: AtomicU8,
    inbox: Arc<Inbox>,
    task: TaskId,
    lease: Lease,
}

impl KillSwitch {
    pub(crate) fn new(inbox: Arc<Inbox>, task: TaskId, lease_until: Option<Instant>) -> Self {
        let lease = Lease::new(lease_until);
        Self(Arc::new(Switch { reason: AtomicU8::new(0), inbox, task, lease }))
    }

    /// See [`Reins::kill`].
    pub fn kill(&self, reason: KillReason) {
        let code = match reason {
            KillReason::Cancelled => CANCELLED,
            KillReason::LeaseLost => LEASE_LOST,
            KillReason::Shutdown => SHUTDOWN,
        };
        let first = self.0.reason.compare_exchange(0, code, Ordering::SeqCst, Ordering::SeqCst);
        if first.is_ok() {
            self.0.inbox.kill(self.0.task);
        }
    }

    /// Why the attempt must not go on, once there is a reason: somebody's, or that its lease is
    /// over at `now`.
    pub(crate) fn reason(&self, now: Instant) -> Option<KillReason> {
        match self.0.reason.load(Ordering::SeqCst) {
            0 => (!self.holds_lease(now)).then_some(KillReason::LeaseLost),
            CANCELLED => Some(KillReason::Cancelled),
            LEASE_LOST => Some(KillReason::LeaseLost),
            _ => Some(KillReason::Shutdown),
        }
    }

    /// Whether the attempt may still have effects at `now`, be they only what is left of its log.
    /// Nobody renews the leases of a leaked thread, so they count as over at once.
    pub(crate) fn holds_lease(&self, now: Instant) -> bool {
        self.0.reason.load(Ordering::SeqCst) != LEASE_LOST
            && now < self.lease_until()
            && !self.0.inbox.is_leaked()
    }

    /// When the lease is over.
    pub(crate) fn lease_until(&self) -> Instant {
        self.0.lease.until()
    }

    /// Where the attempt's thread gets its mail.
    pub(crate) fn inbox(&self) -> &Inbox {
        &self.0.inbox
    }
}

impl Reins for KillSwitch {
    fn kill(&self, reason: KillReason) {
        Self::kill(self, reason);
    }

    /// The thread looks again by itself when the lease that it knows of is over.
    fn renew_lease(&self, until: Instant) {
        self.0.lease.renew(until);
    }

    fn stuck_for(&self) -> Duration {
        self.0.inbox.turn()
    }
}

impl std::fmt::Debug for KillSwitch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KillSwitch")
            .field("reason", &self.reason(Instant::now()))
            .finish_non_exhaustive()
    }
}
