//! What other threads tell a guest thread: new attempts, wakes and kills.

use crate::host::{CallCell, HostCall};
use crate::kill::KillReason;
use crate::queue::{Pace, RunQueue};
use crate::task::{Launch, TaskId};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// One guest thread's inbox, and the little that others may know of the thread.
pub(crate) struct Inbox {
    mail: Mutex<Mail>,
    arrived: Condvar,
    /// Attempts that were handed over and have not ended.
    load: AtomicUsize,
    next_id: AtomicU64,
    born: Instant,
    /// When the present turn began, in nanoseconds after `born`; 0 between turns.
    turn: AtomicU64,
    /// The host call that the present turn is in.
    pub(crate) host_call: CallCell,
    /// Whether the thread did not come out of a turn and was given up.
    leaked: AtomicBool,
}

#[derive(Default)]
struct Mail {
    fresh: Vec<Launch>,
    killed: Vec<TaskId>,
    /// Who waits for a turn.
    ready: RunQueue,
    /// Why everything on the thread ends, once it is to.
    closed: Option<KillReason>,
}

/// What was in the inbox.
pub(crate) struct Batch {
    /// Attempts that start.
    pub(crate) fresh: Vec<Launch>,
    /// Attempts to end, whatever they do at the moment.
    pub(crate) killed: Vec<TaskId>,
    /// Whose turn it is.
    pub(crate) next: Option<TaskId>,
    /// End everything, and the thread, for this reason.
    pub(crate) closed: Option<KillReason>,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Self {
            mail: Mutex::default(),
            arrived: Condvar::new(),
            load: AtomicUsize::new(0),
            next_id: AtomicU64::new(1),
            born: Instant::now(),
            turn: AtomicU64::new(0),
            host_call: CallCell::default(),
            leaked: AtomicBool::new(false),
        }
    }

    /// A number for an attempt that is about to be launched.
    pub(crate) fn reserve(&self) -> TaskId {
        self.load.fetch_add(1, Ordering::Relaxed);
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Hands an attempt over. On a closed inbox it is dropped, which its `Running` notices.
    pub(crate) fn launch(&self, launch: Launch) {
        let mut mail = self.lock();
        if mail.closed.is_some() {
            self.load.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        mail.ready.push(launch.id, Pace::Quick);
        mail.fresh.push(launch);
        self.arrived.notify_one();
    }

    /// Gives a task a turn, behind those of its pace.
    pub(crate) fn wake(&self, id: TaskId, pace: Pace) {
        let mut mail = self.lock();
        if mail.closed.is_none() {
            mail.ready.push(id, pace);
            self.arrived.notify_one();
        }
    }

    /// Asks for a task to be ended before anything else happens.
    pub(crate) fn kill(&self, id: TaskId) {
        let mut mail = self.lock();
        if mail.closed.is_none() {
            mail.killed.push(id);
            self.arrived.notify_one();
        }
    }

    /// Ends the thread and all that runs on it, for the first reason that is given.
    pub(crate) fn close(&self, reason: KillReason) {
        self.lock().closed.get_or_insert(reason);
        self.arrived.notify_one();
    }

    /// Gives the thread up: should it ever come out of its turn, it and its attempts end. From
    /// now on none of them holds a lease, and their host calls have no effect.
    pub(crate) fn leak(&self) {
        self.leaked.store(true, Ordering::SeqCst);
        self.close(KillReason::LeaseLost);
    }

    /// Whether the thread was given up.
    pub(crate) fn is_leaked(&self) -> bool {
        self.leaked.load(Ordering::SeqCst)
    }

    /// Takes what has arrived. Only the guest thread calls this.
    pub(crate) fn take(&self) -> Batch {
        let mut mail = self.lock();
        Batch {
            fresh: std::mem::take(&mut mail.fresh),
            killed: std::mem::take(&mut mail.killed),
            next: mail.ready.pop(),
            closed: mail.closed,
        }
    }

    /// Waits until something arrives, or until the given time. Only the guest thread calls this.
    pub(crate) fn wait(&self, until: Option<Instant>) {
        let mail = self.lock();
        if mail.closed.is_some() || !mail.ready.is_empty() || !mail.killed.is_empty() {
            return;
        }
        // A spurious wake is one more look at an empty inbox.
        match until {
            None => drop(self.arrived.wait(mail)),
            Some(until) => {
                let patience = until.saturating_duration_since(Instant::now());
                drop(self.arrived.wait_timeout(mail, patience));
            }
        }
    }

    /// A task has ended.
    pub(crate) fn ended(&self) {
        self.load.fetch_sub(1, Ordering::Relaxed);
    }

    /// Attempts that have not ended.
    pub(crate) fn load(&self) -> usize {
        self.load.load(Ordering::Relaxed)
    }

    /// Attempts that wait for a turn.
    pub(crate) fn runnable(&self) -> usize {
        self.lock().ready.len()
    }

    /// A turn begins, of a guest that is in this host call. Whatever else the thread does for one
    /// attempt, such as freeing what it held, is a turn as well: host code runs in all of it.
    pub(crate) fn turn_begins(&self, now: Instant, call: Option<HostCall>) {
        self.host_call.set(call);
        let nanos = now.saturating_duration_since(self.born).as_nanos();
        self.turn.store(u64::try_from(nanos).unwrap_or(u64::MAX).max(1), Ordering::Relaxed);
    }

    /// It has ended.
    pub(crate) fn turn_ends(&self) {
        self.turn.store(0, Ordering::Relaxed);
        self.host_call.set(None);
    }

    /// Which turn it is, in a way that tells it from all others; 0 between turns.
    pub(crate) fn turn_mark(&self) -> u64 {
        self.turn.load(Ordering::Relaxed)
    }

    /// How long the present turn has lasted.
    pub(crate) fn turn(&self) -> Duration {
        self.turn_at(Instant::now())
    }

    /// How long the present turn has lasted at `now`.
    pub(crate) fn turn_at(&self, now: Instant) -> Duration {
        match self.turn.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            nanos => {
                let age = now.saturating_duration_since(self.born);
                age.saturating_sub(Duration::from_nanos(nanos))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Mail> {
        // Nothing can panic while the lock is held.
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
