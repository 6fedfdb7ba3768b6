//! What other threads tell a guest thread: new attempts, wakes and kills.

use crate::task::{Launch, TaskId};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
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
}

#[derive(Default)]
struct Mail {
    fresh: Vec<Launch>,
    killed: Vec<TaskId>,
    /// The run queue: whoever is woken goes to its end, so turns are round robin.
    ready: VecDeque<TaskId>,
    closed: bool,
}

/// What was in the inbox.
pub(crate) struct Batch {
    /// Attempts that start.
    pub(crate) fresh: Vec<Launch>,
    /// Attempts to end, whatever they do at the moment.
    pub(crate) killed: Vec<TaskId>,
    /// Whose turn it is.
    pub(crate) next: Option<TaskId>,
    /// The sandbox is gone: end everything.
    pub(crate) closed: bool,
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
        if mail.closed {
            self.load.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        mail.ready.push_back(launch.id);
        mail.fresh.push(launch);
        self.arrived.notify_one();
    }

    /// Gives a task a turn at the end of the queue.
    pub(crate) fn wake(&self, id: TaskId) {
        let mut mail = self.lock();
        if !mail.closed {
            mail.ready.push_back(id);
            self.arrived.notify_one();
        }
    }

    /// Asks for a task to be ended before anything else happens.
    pub(crate) fn kill(&self, id: TaskId) {
        let mut mail = self.lock();
        if !mail.closed {
            mail.killed.push(id);
            self.arrived.notify_one();
        }
    }

    /// Ends the thread and all that runs on it.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }

    /// Takes what has arrived. Only the guest thread calls this.
    pub(crate) fn take(&self) -> Batch {
        let mut mail = self.lock();
        Batch {
            fresh: std::mem::take(&mut mail.fresh),
            killed: std::mem::take(&mut mail.killed),
            next: mail.ready.pop_front(),
            closed: mail.closed,
        }
    }

    /// Waits until something arrives, or until the given time. Only the guest thread calls this.
    pub(crate) fn wait(&self, until: Option<Instant>) {
        let mail = self.lock();
        if mail.closed || !mail.ready.is_empty() || !mail.killed.is_empty() {
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

    /// A turn begins.
    pub(crate) fn turn_begins(&self, now: Instant) {
        let nanos = now.saturating_duration_since(self.born).as_nanos();
        self.turn.store(u64::try_from(nanos).unwrap_or(u64::MAX).max(1), Ordering::Relaxed);
    }

    /// It has ended.
    pub(crate) fn turn_ends(&self) {
        self.turn.store(0, Ordering::Relaxed);
    }

    /// How long the present turn has lasted.
    pub(crate) fn turn(&self) -> Duration {
        match self.turn.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            nanos => self.born.elapsed().saturating_sub(Duration::from_nanos(nanos)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Mail> {
        // Nothing can panic while the lock is held.
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
