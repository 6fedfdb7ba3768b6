//! Sweeps: what mends the line from claim to finish when it breaks.
//!
//! Each sweep is a `run_once` without input: idempotent, drained until a batch is short, and safe
//! when several workers run it at once, because every batch locks its rows and skips those that
//! are locked. Each has its own timer, so that one that fails does not stop the others.

mod partitions;
mod promote;
mod rescue;

use crate::error::chain;
use cofferdam_store::{Store, StoreError};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

/// The most rows that one transaction of a sweep moves.
const BATCH: usize = 500;

/// How often history tables get partitions for the days ahead.
const PARTITION_INTERVAL: Duration = Duration::from_hours(1);

/// The intervals of the sweeps.
pub(crate) struct Intervals {
    pub(crate) promote: Duration,
    pub(crate) rescue: Duration,
    /// The age past which a heartbeat is stale.
    pub(crate) staleness: Duration,
}

/// Starts every sweep on `tasks`, until `stop`. `wake` is told about jobs that became claimable.
pub(crate) fn start(
    store: &Store,
    intervals: &Intervals,
    wake: &Arc<Notify>,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) {
    let staleness = intervals.staleness;
    sweep("promote", intervals.promote, store, wake, tasks, stop, |store| async move {
        promote::run_once(&store).await
    });
    sweep("rescue-stale", intervals.rescue, store, wake, tasks, stop, move |store| async move {
        rescue::stale(&store, staleness).await
    });
    sweep("rescue-overdue", intervals.rescue, store, wake, tasks, stop, |store| async move {
        rescue::overdue(&store).await
    });
    sweep("partitions", PARTITION_INTERVAL, store, wake, tasks, stop, |store| async move {
        partitions::run_once(&store).await
    });
}

fn sweep<F, R>(
    name: &'static str,
    interval: Duration,
    store: &Store,
    wake: &Arc<Notify>,
    tasks: &TaskTracker,
    stop: &CancellationToken,
    run_once: F,
) where
    F: Fn(Store) -> R + Send + 'static,
    R: Future<Output = Result<usize, StoreError>> + Send,
{
    let (store, wake, stop) = (store.clone(), wake.clone(), stop.clone());
    tasks.spawn(async move {
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            match run_once(store.clone()).await {
                Ok(0) => {}
                Ok(_) => wake.notify_one(),
                Err(error) => {
                    warn!(sweep = name, error = chain(&error), "a sweep failed; it runs again");
                }
            }
        }
    });
}
