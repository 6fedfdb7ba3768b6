//! Faults of the platform's own processes.

use super::{Done, Injector, told};
use crate::rows;
use crate::schedule::Fault;
use anyhow::Result;
use nix::sys::signal::Signal;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How far a wrong clock is off at most, in seconds: long against everything that happens in a run.
const MAX_SKEW: u64 = 6 * 3600;
/// And at least.
const MIN_SKEW: u64 = 600;

impl Injector {
    pub(super) fn kill_worker(&self, fault: &Fault) -> Done {
        let seat = self.target(fault).and_then(|worker| self.fleet.workers().get(worker));
        let Some(process) = seat.and_then(crate::fleet::Seat::process) else {
            return Done::Nothing;
        };
        if !process.kill() {
            return Done::Nothing;
        }
        Done::Over(format!("{} (pid {})", process.tag.name, process.pid))
    }

    pub(super) async fn kill_leader(&self) -> Result<Done> {
        let mut session = self.postgres.connect().await?;
        let leader = rows::leader(&mut session).await?;
        let Some(process) = leader.and_then(|pid| self.fleet.find(pid)) else {
            return Ok(Done::Nothing);
        };
        if !process.kill() {
            return Ok(Done::Nothing);
        }
        Ok(Done::Over(format!("{} (pid {})", process.tag.name, process.pid)))
    }

    pub(super) fn kill_server(&self) -> Done {
        let process = self.fleet.server().and_then(crate::fleet::Seat::process);
        match process.filter(|process| process.kill()) {
            Some(process) => Done::Over(format!("pid {}", process.pid)),
            None => Done::Nothing,
        }
    }

    /// Stops a worker for a while, in half of the cases with the processes that it has started.
    pub(super) fn freeze(&self, fault: &Fault) -> Done {
        let seat = self.target(fault).and_then(|worker| self.fleet.workers().get(worker));
        let Some(process) = seat.and_then(crate::fleet::Seat::process) else {
            return Done::Nothing;
        };
        let whole = fault.chance.is_multiple_of(2);
        let signal = move |process: &Arc<crate::process::Process>, signal| {
            if whole { process.signal_all(signal) } else { process.signal(signal) }
        };
        if !signal(&process, Signal::SIGSTOP) {
            return Done::Nothing;
        }
        let (with, lasts) = (if whole { " and its children" } else { "" }, told(fault.lasts));
        let what = format!("{} (pid {}){with} {lasts}", process.tag.name, process.pid);
        Done::Lasts(
            what,
            Box::new(move || {
                signal(&process, Signal::SIGCONT);
            }),
        )
    }

    /// Kills a worker. The next one in its seat starts with a wrong clock, or with the right one
    /// when the seat's was wrong.
    pub(super) fn skew(&self, fault: &Fault) -> Done {
        let seat = self.target(fault).and_then(|worker| self.fleet.workers().get(worker));
        let Some(seat) = seat.filter(|_| self.fleet.has_skew()) else { return Done::Nothing };
        let Some(process) = seat.process() else { return Done::Nothing };
        let size = MIN_SKEW + fault.chance / 2 % (MAX_SKEW - MIN_SKEW);
        let size = i64::try_from(size).unwrap_or(0);
        let skew = if fault.chance.is_multiple_of(2) { size } else { -size };
        let was = seat.skew.load(Ordering::Relaxed);
        seat.skew.store(if was == 0 { skew } else { 0 }, Ordering::Relaxed);
        if !process.kill() {
            return Done::Nothing;
        }
        let now = seat.skew.load(Ordering::Relaxed);
        Done::Over(format!("{} after pid {}: its clock is {now} s off", seat.name(), process.pid))
    }

    pub(super) fn drain(&self, fault: &Fault) -> Result<Done> {
        let Some(worker) = self.target(fault) else { return Ok(Done::Nothing) };
        let drained = self.fleet.replace(worker)?;
        Ok(drained
            .map_or(Done::Nothing, |pid| Done::Over(format!("worker {} (pid {pid})", worker + 1))))
    }
}
