//! Sweeps: what mends the line from claim to finish when it breaks.
//!
//! Each sweep is a `run_once` that needs to know nothing of earlier runs: idempotent, drained until
//! a batch is short, and safe when two leaders run it at once, because every batch locks its rows
//! and skips those that are locked. Each has its own timer, so that one that fails does not stop
//! the others.

mod held;
mod leader;
mod partitions;
mod promote;
mod prune;
mod registry;
mod rescue;
mod sweep;
mod waits;

pub use rescue::evict;

pub(crate) use leader::{Leader, Leading};
pub(crate) use sweep::Tallies;

use crate::settings::WorkerSettings;
use crate::stage::Stage;
use cofferdam_core::bounds::{CRASH_INTERVAL, ORPHAN_INTERVAL};
use cofferdam_store::{RescueKind, Retention, Store};
use std::sync::Arc;
use std::time::Duration;
use sweep::Sweeper;
use tokio::sync::Notify;

/// The most rows that one transaction of a sweep moves.
const BATCH: usize = 500;

/// How often history tables get partitions for the days ahead.
const PARTITION_INTERVAL: Duration = Duration::from_hours(1);

/// How often jobs of versions in quarantine are looked at.
const HELD_INTERVAL: Duration = Duration::from_secs(5);

/// How often waits are looked for that are over: as late as this a job may be told so.
const WAIT_INTERVAL: Duration = Duration::from_secs(5);

/// How often the register of workers is tidied up.
const REGISTRY_INTERVAL: Duration = Duration::from_secs(10);

/// Starts every sweep on `stage`. Each runs while this worker leads.
pub(crate) fn start(
    store: &Store,
    settings: &WorkerSettings,
    leading: &Leading,
    tallies: &Arc<Tallies>,
    wake: &Arc<Notify>,
    stage: &Stage,
) {
    let sweeper = Sweeper {
        store: store.clone(),
        leading: leading.clone(),
        tallies: tallies.clone(),
        wake: wake.clone(),
        stage,
    };
    let rescue =
        |name, interval, kind| {
            sweeper.start(name, interval, move |store| async move {
                rescue::run_once(&store, kind).await
            });
        };
    let staleness = settings.heartbeat_staleness;
    rescue("rescue-heartbeat", settings.rescue_interval, RescueKind::Heartbeat { staleness });
    let grace = settings.overdue_grace;
    rescue("rescue-deadline", settings.rescue_interval, RescueKind::Deadline { grace });
    let grace = settings.orphan_grace;
    rescue("rescue-orphan", ORPHAN_INTERVAL, RescueKind::Orphan { grace });
    let grace = settings.crash_grace;
    if !grace.is_zero() {
        rescue("rescue-crash", CRASH_INTERVAL, RescueKind::Crash { grace });
    }

    sweeper.start("promote", settings.promote_interval, |store| async move {
        promote::run_once(&store).await
    });
    sweeper.start("held", HELD_INTERVAL, |store| async move { held::run_once(&store).await });
    sweeper.start("waits", WAIT_INTERVAL, |store| async move { waits::run_once(&store).await });
    sweeper.start("registry", REGISTRY_INTERVAL, move |store| async move {
        registry::run_once(&store, grace).await
    });
    sweeper.start("partitions", PARTITION_INTERVAL, |store| async move {
        partitions::run_once(&store).await
    });
    let retention = Retention {
        history: settings.history_retention,
        logs: settings.log_retention,
        dead_letters: settings.dlq_retention,
    };
    sweeper.start("prune", settings.prune_interval, move |store| async move {
        prune::run_once(&store, &retention).await
    });
}
