//! Ending an attempt from outside.

use crate::inbox::Inbox;
use crate::task::TaskId;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

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

/// Ends one attempt. Copies end the same attempt.
#[derive(Clone)]
pub struct KillSwitch(Arc<Switch>);

struct Switch {
    /// 0, or a reason.
    reason: AtomicU8,
    inbox: Arc<Inbox>,
    task: TaskId,
}

impl KillSwitch {
    pub(crate) fn new(inbox: Arc<Inbox>, task: TaskId) -> Self {
        Self(Arc::new(Switch { reason: AtomicU8::new(0), inbox, task }))
    }

    /// Ends the attempt: at the guest's next tick when it runs, at once when it waits. The first
    /// reason counts; later calls, and calls after the attempt's end, do nothing. Never blocks.
    pub fn kill(&self, reason: KillReason) {
        let code = match reason {
            KillReason::Cancelled => 1,
            KillReason::LeaseLost => 2,
            KillReason::Shutdown => 3,
        };
        let first = self.0.reason.compare_exchange(0, code, Ordering::SeqCst, Ordering::SeqCst);
        if first.is_ok() {
            self.0.inbox.kill(self.0.task);
        }
    }

    /// The reason, once there is one.
    pub(crate) fn reason(&self) -> Option<KillReason> {
        match self.0.reason.load(Ordering::SeqCst) {
            0 => None,
            1 => Some(KillReason::Cancelled),
            2 => Some(KillReason::LeaseLost),
            _ => Some(KillReason::Shutdown),
        }
    }
}

impl std::fmt::Debug for KillSwitch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KillSwitch").field("reason", &self.reason()).finish_non_exhaustive()
    }
}
