//! What must outlive an attempt's store: whoever ends the attempt from outside cannot ask it.

use crate::attempt::AttemptHost;
use crate::backtrace::Trace;
use crate::host::{CallCell, HostCall};
use crate::journal::Journal;
use crate::kill::KillSwitch;
use crate::meter::{Deadline, Meter};
use crate::outcome::{Failed, Stop};
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
    /// The host call that the guest is in.
    host_call: CallCell,
    place: Mutex<Place>,
}

/// Where the guest is, as far as is known.
#[derive(Default)]
struct Place {
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
            host_call: CallCell::default(),
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

    /// Why the attempt must end at `now`, whatever it does. A lease that is over comes before a
    /// deadline that has passed: the outcome is not this attempt's to write any more.
    pub(crate) fn stop(&self, now: Instant) -> Option<Stop> {
        let killed = self.kill.reason(now).map(Stop::Killed);
        killed.or_else(|| (now >= self.deadline.at()).then_some(Stop::Deadline))
    }

    /// When that is, unless something happens before.
    pub(crate) fn due(&self) -> Instant {
        self.deadline.at().min(self.kill.lease_until())
    }

    /// Begins a host call that has an effect, and notes that the guest is in it until the guard
    /// is dropped. Refused once the attempt was killed or its lease is over: then the effect is
    /// not this attempt's to have, and waiting for the next tick would be too late.
    pub(crate) fn enter(&self, call: HostCall) -> Result<Within<'_>, Stop> {
        match self.kill.reason(Instant::now()) {
            Some(reason) => Err(Stop::Killed(reason)),
            None => Ok(self.within(call)),
        }
    }

    /// Notes that the guest's thread is in a host call, until the guard is dropped.
    pub(crate) fn within(&self, call: HostCall) -> Within<'_> {
        self.host_call.set(Some(call));
        self.kill.inbox().host_call.set(Some(call));
        Within(self)
    }

    /// The host call that the guest is in.
    pub(crate) fn host_call(&self) -> Option<HostCall> {
        self.host_call.get()
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

/// A guest is in a host call as long as this lives.
pub(crate) struct Within<'a>(&'a Vitals);

impl Drop for Within<'_> {
    fn drop(&mut self) {
        self.0.host_call.set(None);
        self.0.kill.inbox().host_call.set(None);
    }
}
