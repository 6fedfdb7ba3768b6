//! Gets work for free slots: woken by notifications, polling as the net beneath them.

use crate::error::chain;
use crate::execute::Executor;
use crate::inflight::InFlight;
use crate::moment::Moment;
use crate::presence::Present;
use crate::stop::{Stop, StopReason};
use cofferdam_core::ids::WorkerId;
use cofferdam_core::limits::Limits;
use cofferdam_core::name::QueueName;
use cofferdam_store::{ClaimCursor, ClaimRequest, Listener, Store, Wake};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

/// The longest wait after claims that failed, so that a worker is back soon after its database.
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// Claims jobs and starts them.
pub(crate) struct Claimer {
    pub(crate) store: Store,
    pub(crate) worker: WorkerId,
    pub(crate) queues: Vec<QueueName>,
    pub(crate) default_deadline: Duration,
    pub(crate) caps: Limits,
    pub(crate) poll_interval: Duration,
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) inflight: Arc<InFlight>,
    pub(crate) executor: Arc<Executor>,
    pub(crate) tasks: TaskTracker,
    pub(crate) wake: Arc<Notify>,
    pub(crate) present: Present,
}

impl Claimer {
    /// Claims until `stop`.
    pub(crate) async fn run(&self, stop: CancellationToken) {
        let mut cursor = ClaimCursor::default();
        let mut failures = 0_u32;
        while let Some(()) = stop.run_until_cancelled(self.may_claim()).await {
            // Interest is registered before the look, so that a job that comes between the two is
            // not slept through.
            let woken = self.wake.notified();
            let wait = match self.claim(&mut cursor).await {
                Ok(0) => {
                    failures = 0;
                    self.poll_interval
                }
                // There may be more where these came from.
                Ok(_) => {
                    failures = 0;
                    continue;
                }
                Err(error) => {
                    warn!(error = chain(&error), "could not claim jobs");
                    failures = failures.saturating_add(1);
                    let backoff = self.poll_interval * 2_u32.saturating_pow(failures.min(8));
                    backoff.min(MAX_BACKOFF)
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = woken => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    async fn may_claim(&self) {
        // The semaphore is never closed. The permit is given back at once: only this task claims.
        let _ = self.slots.acquire().await;
        self.present.here().await;
    }

    /// Claims for all free slots, and says how many jobs there were.
    async fn claim(&self, cursor: &mut ClaimCursor) -> Result<usize, cofferdam_store::StoreError> {
        let request = ClaimRequest {
            worker: self.worker,
            queues: self.queues.clone(),
            max: self.slots.available_permits(),
            default_deadline: self.default_deadline,
            deadline_cap: self.caps.deadline,
        };
        let before = Moment::now();
        let claimed = self.store.claim(&request, cursor).await?;
        let count = claimed.len();
        if count > 0 {
            debug!(jobs = count, "claimed");
        }
        // Every lease is in the table before the first guest starts, so that none is ever unbeaten.
        for job in &claimed {
            self.inflight.insert(job.key, before.at(job.sent));
        }
        for job in claimed {
            let Ok(slot) = self.slots.clone().try_acquire_owned() else {
                // More came than was asked for; the lease is left to rescue rather than overcommit.
                warn!(lease = %job.key, "claimed more jobs than there are slots");
                self.inflight.remove(job.key);
                continue;
            };
            let executor = self.executor.clone();
            self.tasks.spawn(async move { executor.run(job, slot).await });
        }
        Ok(count)
    }
}

/// Passes notifications on: new work to the claimer, cancels to the guests, orders to the worker.
pub(crate) async fn listen(
    mut listener: Listener,
    worker: WorkerId,
    inflight: Arc<InFlight>,
    wake: Arc<Notify>,
    orders: Stop,
    stop: CancellationToken,
) {
    while let Some(event) = stop.run_until_cancelled(listener.recv()).await {
        match event {
            Wake::Cancel(key) => inflight.cancel(key),
            Wake::Drain(who) if who == worker => orders.give(StopReason::Drain),
            Wake::Evict(who) if who == worker => orders.give(StopReason::Evicted),
            Wake::Drain(_) | Wake::Evict(_) => {}
            // What was notified while the connection was away is lost: look for work instead.
            // Cancels come with the next heartbeat.
            Wake::Ready { .. } | Wake::Reconnected => wake.notify_one(),
        }
    }
}
