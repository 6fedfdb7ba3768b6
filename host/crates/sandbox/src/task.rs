//! One attempt on its guest thread.

use crate::bindings::KindDescription;
use crate::inbox::Inbox;
use crate::outcome::Failed;
use crate::queue::{Pace, QUICK};
use crate::vitals::Vitals;
use cofferdam_core::outcome::Usage;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// A task's number, unique on its thread.
pub(crate) type TaskId = u64;

/// What a guest gave back.
pub(crate) enum Value {
    /// A job's output.
    Output(Vec<u8>),
    /// What a component said of its kinds.
    Kinds(Vec<KindDescription>),
}

/// The call of a guest. It lives and dies on its thread; dropping it drops the store.
pub(crate) type GuestFuture = Pin<Box<dyn Future<Output = Result<Value, Failed>>>>;

/// How a task ended.
pub(crate) struct Report {
    pub(crate) result: Result<Value, Failed>,
    pub(crate) usage: Usage,
}

/// A task on its way to its thread.
pub(crate) struct Launch {
    pub(crate) id: TaskId,
    /// Makes the future, on the thread that will own it.
    pub(crate) begin: Box<dyn FnOnce() -> GuestFuture + Send>,
    pub(crate) vitals: Arc<Vitals>,
    pub(crate) done: oneshot::Sender<Report>,
}

/// A task on its thread.
pub(crate) struct Task {
    pub(crate) future: GuestFuture,
    pub(crate) vitals: Arc<Vitals>,
    pub(crate) done: oneshot::Sender<Report>,
    pub(crate) turn: Arc<Turn>,
    pub(crate) waker: Waker,
    /// The moment under which the task is filed: no later than when it is due.
    pub(crate) armed: Instant,
}

impl Task {
    /// Receives a task. The launch has queued its first turn already.
    pub(crate) fn begin(launch: Launch, inbox: &Arc<Inbox>) -> Self {
        let turn = Arc::new(Turn {
            id: launch.id,
            queued: AtomicBool::new(true),
            slow: AtomicBool::new(false),
            inbox: Arc::clone(inbox),
        });
        Self {
            future: (launch.begin)(),
            armed: launch.vitals.due(),
            vitals: launch.vitals,
            done: launch.done,
            waker: Waker::from(Arc::clone(&turn)),
            turn,
        }
    }
}

/// A task's place in the run queue.
pub(crate) struct Turn {
    id: TaskId,
    queued: AtomicBool,
    /// Whether the task has used more than its first moments of a processor.
    slow: AtomicBool,
    inbox: Arc<Inbox>,
}

impl Turn {
    /// The task is about to have its turn: from now on a wake queues it again.
    pub(crate) fn take(&self) {
        self.queued.store(false, Ordering::SeqCst);
    }

    /// The task has used so much of a processor by now.
    pub(crate) fn used(&self, cpu: Duration) {
        if cpu >= QUICK {
            self.slow.store(true, Ordering::Relaxed);
        }
    }

    fn pace(&self) -> Pace {
        if self.slow.load(Ordering::Relaxed) { Pace::Slow } else { Pace::Quick }
    }

    /// Whether the task waits for a turn, rather than for a host call.
    pub(crate) fn is_queued(&self) -> bool {
        self.queued.load(Ordering::SeqCst)
    }
}

impl Wake for Turn {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::SeqCst) {
            self.inbox.wake(self.id, self.pace());
        }
    }
}
