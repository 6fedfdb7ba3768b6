//! A guest thread: a small executor whose first rule is that no guest needs a turn to die.
//!
//! Before each turn it drops whatever has been killed or has run out of time, be it the deadline
//! or the lease; a suspended guest is ended by dropping its call, without running it. Turns end at
//! the next tick; whose turn it is, the run queue says. Calls never leave their thread.

use crate::host::HostCall;
use crate::inbox::Inbox;
use crate::kill::KillReason;
use crate::outcome::{self, Failed, Stop};
use crate::task::{Launch, Report, Task, TaskId, Value};
use crate::ticker::Ticker;
use nix::time::{ClockId, clock_gettime};
use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wasmtime::Engine;

/// What runs on one guest thread.
pub(crate) struct GuestThread {
    inbox: Arc<Inbox>,
    ticker: Arc<Ticker>,
    tasks: HashMap<TaskId, Task>,
    /// Every task, by when it is due: by its deadline, or by the end of its lease when that comes
    /// first. Leases are renewed by others, so a task may be due later than it is filed.
    deadlines: BTreeSet<(Instant, TaskId)>,
    /// Whether the ticker knows that this thread has something to run.
    busy: bool,
}

impl GuestThread {
    /// Starts a thread. Timers and sockets of host calls are driven by `io`'s own threads.
    pub(crate) fn start(
        index: usize,
        inbox: Arc<Inbox>,
        ticker: Arc<Ticker>,
        io: tokio::runtime::Handle,
    ) -> std::io::Result<JoinHandle<()>> {
        std::thread::Builder::new().name(format!("guest-{index}")).spawn(move || {
            let _io = io.enter();
            // Otherwise the first attempt pays for it.
            Engine::tls_eager_initialize();
            let tasks = HashMap::new();
            Self { inbox, ticker, tasks, deadlines: BTreeSet::new(), busy: false }.run();
        })
    }

    fn run(mut self) {
        loop {
            let batch = self.inbox.take();
            for launch in batch.fresh {
                self.admit(launch);
            }
            if let Some(reason) = batch.closed {
                return self.end_all(reason);
            }
            let now = Instant::now();
            for id in batch.killed {
                self.reap(id, now);
            }
            self.reap_expired(now);
            match batch.next {
                Some(id) => self.give_turn(id),
                None => self.rest(),
            }
        }
    }

    fn admit(&mut self, launch: Launch) {
        let id = launch.id;
        let task = Task::begin(launch, &self.inbox);
        self.deadlines.insert((task.armed, id));
        self.tasks.insert(id, task);
    }

    fn give_turn(&mut self, id: TaskId) {
        // A task that was reaped may still have a turn in the queue.
        let Some(task) = self.tasks.get_mut(&id) else { return };
        if !self.busy {
            self.busy = true;
            self.ticker.busy();
        }
        task.turn.take();
        task.turn.used(Duration::from_micros(task.vitals.meter.cpu_micros()));
        self.inbox.turn_begins(Instant::now(), task.vitals.host_call());
        let before = cpu_time();
        let polled = catch_unwind(AssertUnwindSafe(|| {
            task.future.as_mut().poll(&mut Context::from_waker(&task.waker))
        }));
        task.vitals.meter.add_cpu(cpu_time().saturating_sub(before));
        self.inbox.turn_ends();
        if self.inbox.is_leaked() {
            // Nobody waits for it any more: the next look into the inbox ends it.
            return;
        }

        match polled {
            Ok(Poll::Pending) => self.rearm(id),
            Ok(Poll::Ready(result)) => self.end(id, |_| result),
            Err(panic) => self.end(id, |_| Err(outcome::host_panic(&*panic))),
        }
    }

    /// Files a task anew: its host call may have moved its deadline, and others its lease.
    fn rearm(&mut self, id: TaskId) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let at = task.vitals.due();
        if at != task.armed {
            self.deadlines.remove(&(task.armed, id));
            self.deadlines.insert((at, id));
            task.armed = at;
        }
    }

    fn reap_expired(&mut self, now: Instant) {
        while let Some(&(at, id)) = self.deadlines.first() {
            if at > now {
                return;
            }
            self.reap(id, now);
        }
    }

    /// Ends a task that was killed or has run out of time at `now`, without giving it a turn. One
    /// whose lease was renewed since it was filed is filed anew.
    fn reap(&mut self, id: TaskId, now: Instant) {
        match self.tasks.get(&id).and_then(|task| task.vitals.stop(now)) {
            Some(stop) => self.end(id, |task| Err(reaped(stop, task))),
            None => self.rearm(id),
        }
    }

    fn end_all(mut self, reason: KillReason) {
        let ids: Vec<TaskId> = self.tasks.keys().copied().collect();
        for id in ids {
            self.end(id, |_| Err(outcome::ended(reason)));
        }
        if self.busy {
            self.ticker.idle();
        }
    }

    fn end(&mut self, id: TaskId, result: impl FnOnce(&Task) -> Result<Value, Failed>) {
        let Some(task) = self.tasks.remove(&id) else { return };
        self.deadlines.remove(&(task.armed, id));
        let mut result = result(&task);
        let Task { future, vitals, done, .. } = task;
        let now = Instant::now();
        self.inbox.turn_begins(now, vitals.host_call());
        // The store goes before the outcome is told: whoever hears it may count on the slot.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(future))) {
            result = Err(outcome::host_panic(&*panic));
        }
        // What is left of the log is an effect like any other.
        if vitals.kill.holds_lease(now) {
            let _within = vitals.within(HostCall::Log);
            vitals.journal.finish();
        }
        self.inbox.turn_ends();
        let usage = vitals.usage(&result);
        self.inbox.ended();
        // Nobody may be listening any more; then nobody misses it.
        let _ = done.send(Report { result, usage });
    }

    fn rest(&mut self) {
        if self.busy {
            self.busy = false;
            self.ticker.idle();
        }
        self.inbox.wait(self.deadlines.first().map(|&(at, _)| at));
    }
}

fn reaped(stop: Stop, task: &Task) -> Failed {
    outcome::reaped(stop, &task.vitals, task.turn.is_queued())
}

/// The thread's CPU time. It does not count when the thread is preempted, so that a guest on a
/// busy machine is not billed for its neighbours.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}
