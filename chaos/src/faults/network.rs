//! Faults between a worker and its database.

use super::{Done, Injector, told};
use crate::fleet::Fleet;
use crate::schedule::{Fault, Kind};
use cofferdam_testkit::proxy::Mode;
use std::sync::Arc;
use std::time::Duration;

/// How much longer each piece takes on a slow network.
const SLOW: Duration = Duration::from_millis(60);

impl Injector {
    /// Makes a worker's network swallow everything, or slow.
    pub(super) fn disturb(&self, fault: &Fault) -> Done {
        let Some(worker) = self.target(fault) else { return Done::Nothing };
        let mode = if fault.kind == Kind::BlackHole { Mode::BlackHole } else { Mode::Delay(SLOW) };
        set(&self.fleet, worker, mode);
        let fleet = self.fleet.clone();
        let what = format!("worker {} {}", worker + 1, told(fault.lasts));
        Done::Lasts(what, Box::new(move || set(&fleet, worker, Mode::Forward)))
    }

    pub(super) fn reset(&self, fault: &Fault) -> Done {
        let Some(worker) = self.target(fault) else { return Done::Nothing };
        if let Some(seat) = self.fleet.workers().get(worker) {
            seat.proxy.reset();
        }
        Done::Over(format!("worker {}", worker + 1))
    }
}

fn set(fleet: &Arc<Fleet>, worker: usize, mode: Mode) {
    if let Some(seat) = fleet.workers().get(worker) {
        seat.proxy.set(mode);
    }
}
