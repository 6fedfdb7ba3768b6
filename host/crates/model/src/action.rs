//! What can happen.

use crate::state::Outcome;

/// A worker's side of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The job.
    pub job: usize,
    /// The worker.
    pub worker: usize,
}

/// One step. Each happens at once; what takes time in truth is two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A claim is sent and applied.
    Claim(Slot),
    /// The answer to a claim arrives, and the guest starts.
    HearClaim(Slot),
    /// Fault: the answer to a claim is lost.
    LoseClaim(Slot),
    /// A worker sends a beat for everything in its table.
    SendBeat(usize),
    /// The beat of a worker is applied.
    ApplyBeat(usize),
    /// The answer to a worker's beat arrives.
    HearBeat(usize),
    /// The guest ends by itself.
    EndGuest(Slot, Outcome),
    /// The worker kills the guest at its deadline.
    Overrun(Slot),
    /// The worker kills the guest because the lease may be stale.
    Fence(Slot),
    /// The notification of a cancel arrives.
    HearCancel(Slot),
    /// A draining worker kills the guest to give the job back.
    Release(Slot),
    /// An outcome is applied and acknowledged.
    Finish(Slot),
    /// Fault: an outcome is applied, and the answer is lost.
    FinishUnheard(Slot),
    /// Fault: the worker gives up writing an outcome, which is still on its way.
    GiveUp(Slot),
    /// An outcome arrives that nobody waits for any more.
    ApplyLate(Slot),
    /// The backoff is over.
    Promote(usize),
    /// An operator cancels the job.
    Cancel(usize),
    /// A sweep of any leader rescues a lease with a stale heartbeat.
    RescueStale(usize),
    /// A sweep rescues a lease whose worker is gone.
    RescueGone(usize),
    /// A sweep rescues a lease past its deadline.
    RescueLate(usize),
    /// A leader reads a stale lease, and writes later.
    ReadStale(usize, usize),
    /// A leader writes what it has read.
    WriteStale(usize, usize),
    /// An operator drains the worker.
    Drain(usize),
    /// A drained worker ends.
    Leave(usize),
    /// Fault: the process is stopped.
    Pause(usize),
    /// The process goes on.
    Resume(usize),
    /// Fault: the process dies.
    Crash(usize),
    /// A new process takes the place of a dead one.
    Rejoin(usize),
    /// A tick passes, in which every message has arrived.
    Tick,
    /// Fault: a tick passes while messages of workers that run are on their way or not sent yet.
    LateTick,
    /// Fault: a tick passes that the clock of this worker misses.
    SlowTick(usize),
}

impl Action {
    /// Whether it happens in the end without bad luck and without an operator.
    pub fn is_fair(self) -> bool {
        let fault = matches!(
            self,
            Self::LoseClaim(_)
                | Self::FinishUnheard(_)
                | Self::GiveUp(_)
                | Self::Pause(_)
                | Self::Crash(_)
                | Self::LateTick
                | Self::SlowTick(_)
        );
        !fault && !matches!(self, Self::Cancel(_) | Self::Drain(_))
    }
}
