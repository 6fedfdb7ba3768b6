//! What must outlive an attempt's store: whoever ends the attempt from outside cannot ask it.

use crate::attempt::AttemptHost;
use crate::backtrace::Trace;
use crate::journal::Journal;
use crate::kill::KillSwitch;
use crate::meter::{Deadline, Meter};
use crate::outcome::Failed;
use crate::task::Value;
use cofferdam_core::limits::Limits;
use cofferdam_core::outcome::Usage;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The part of an attempt that its guest thread, its store and its kill switch share.
pub(crate) struct Vitals {
    pub(crate) kill: KillSwitch,
    pub(crate) deadline: Deadline,
    pub(crate) limits: Limits,
    pub(crate) meter: Meter,
    pub(crate) journal: Journal,
    started: Instant,
    place: Mutex<Place>,
}

/// Where the guest is, as far as is known.
#[derive(Default)]
struct Place {
    /// The host call that it waits in.
    host_call: Option<&'static str>,
    /// Its backtrace when it was last looked at.
    trace: Trace,
    /// When it last reached a tick.
    last_tick: Option<Instant>,
    /// When it was first looked at.
    first_tick: Option<Instant>,
    /// When its backtrace is due again.
    next_trace: Option<Instant>,
}

impl Vitals {
    pub(crate) fn new(
        kill: KillSwitch,
        host: Arc<dyn AttemptHost>,
        limits: Limits,
        deadline: Instant,
    ) -> Self {
        let started = Instant::now();
        Self {
            kill,
            deadline: Deadline::new(started, deadline),
            meter: Meter::default(),
            journal: Journal::new(host, started, &limits),
            limits,
            started,
            place: Mutex::default(),
        }
    }

    /// What the attempt used, the store's last words included.
    pub(crate) fn usage(&self, result: &Result<Value, Failed>) -> Usage {
        let output_bytes = match result {
            Ok(Value::Output(bytes)) => bytes.len() as u64,
            _ => 0,
        };
        Usage {
            fuel: self.meter.fuel(),
            cpu_micros: self.meter.cpu_micros(),
            wall_micros: u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX),
            peak_memory_bytes: self.meter.peak_memory(),
            log_bytes: self.journal.bytes(),
            output_bytes,
        }
    }

    /// Notes which host call the guest waits in, until the guard is dropped.
    pub(crate) fn waits_in(self: &Arc<Self>, call: &'static str) -> Waiting {
        self.place().host_call = Some(call);
        Waiting(Arc::clone(self))
    }

    /// The host call that the guest waits in.
    pub(crate) fn host_call(&self) -> Option<&'static str> {
        self.place().host_call
    }

    /// The guest has reached a tick. Answers whether its backtrace is worth taking, because a
    /// guest that is suspended when it dies cannot be asked: at the first tick, whenever twice as
    /// much time has passed, and when this may be the last one before the deadline.
    pub(crate) fn tick(&self, now: Instant) -> bool {
        let mut place = self.place();
        let first = *place.first_tick.get_or_insert(now);
        let since = place.last_tick.map_or(Duration::ZERO, |last| now.duration_since(last));
        place.last_tick = Some(now);
        let due = place.next_trace.is_none_or(|at| now >= at);
        if due {
            place.next_trace = Some(now + now.duration_since(first));
        }
        due || now + since * 2 >= self.deadline.at()
    }

    /// Keeps a backtrace for whoever ends the attempt.
    pub(crate) fn keep_trace(&self, trace: Trace) {
        self.place().trace = trace;
    }

    /// The backtrace that was kept.
    pub(crate) fn trace(&self) -> Trace {
        self.place().trace.clone()
    }

    fn place(&self) -> std::sync::MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A guest waits in a host call as long as this lives.
pub(crate) struct Waiting(Arc<Vitals>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.place().host_call = None;
    }
}
