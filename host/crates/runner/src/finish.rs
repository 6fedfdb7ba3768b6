//! From outcomes to rows: in batches, fenced, and tried again while the database is away.
//!
//! The first outcome that arrives is written at once; whatever arrives while that write is under
//! way goes with the next one. So a quiet worker answers without delay and a busy one commits in
//! groups, with no timer to tune.

use crate::error::chain;
use crate::inflight::InFlight;
use crate::logs::Buffers;
use cofferdam_core::ids::{LeaseKey, WorkerId};
use cofferdam_store::{Finish, Store, StoreError};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc;
use tracing::{error, info, warn};

/// The most outcomes in one transaction.
const BATCH: usize = 500;

/// The waits between the five tries to write a batch. After the last one the outcome is left to
/// rescue: it is never invented, and the attempt runs again.
const RETRY_WAITS: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
];

/// An outcome on its way, with the slot that it occupies until it is settled.
pub(crate) struct Ended {
    pub(crate) finish: Finish,
    pub(crate) slot: OwnedSemaphorePermit,
}

/// Writes outcomes.
pub(crate) struct Finisher {
    pub(crate) store: Store,
    pub(crate) worker: WorkerId,
    pub(crate) inflight: Arc<InFlight>,
    pub(crate) buffers: Arc<Buffers>,
}

impl Finisher {
    /// Writes what comes through `outcomes`, until every sender is gone.
    pub(crate) async fn run(&self, mut outcomes: mpsc::UnboundedReceiver<Ended>) {
        let mut batch = Vec::with_capacity(BATCH);
        while outcomes.recv_many(&mut batch, BATCH).await > 0 {
            let (finishes, slots): (Vec<_>, Vec<_>) =
                batch.drain(..).map(|ended| (ended.finish, ended.slot)).unzip();
            self.write_logs(&finishes).await;
            self.write(&finishes).await;
            for finish in &finishes {
                self.inflight.remove(finish.key);
            }
            drop(slots);
        }
    }

    async fn write_logs(&self, finishes: &[Finish]) {
        let chunks: Vec<_> =
            finishes.iter().filter_map(|finish| self.buffers.close(finish.key)).collect();
        if chunks.is_empty() {
            return;
        }
        if let Err(error) = self.store.append_logs(&chunks).await {
            // A log is worth less than an outcome: it is not retried.
            warn!(error = chain(&error), chunks = chunks.len(), "lost captured log lines");
        }
    }

    /// Writes a batch; when it is refused for another reason than the database being away, its
    /// outcomes one by one, so that one bad row cannot hold up the others.
    async fn write(&self, finishes: &[Finish]) {
        match self.write_with_retries(finishes).await {
            Ok(()) => {}
            Err(error) if error.is_transient() => error!(
                error = chain(&error),
                outcomes = finishes.len(),
                "gave up writing outcomes; their leases will be rescued"
            ),
            Err(_) if finishes.len() > 1 => {
                for finish in finishes {
                    if let Err(error) = self.write_with_retries(std::slice::from_ref(finish)).await
                    {
                        log_refused(finish.key, &error);
                    }
                }
            }
            Err(error) => {
                for finish in finishes {
                    log_refused(finish.key, &error);
                }
            }
        }
    }

    async fn write_with_retries(&self, finishes: &[Finish]) -> Result<(), StoreError> {
        let mut waits = RETRY_WAITS.iter();
        loop {
            match self.store.finish(self.worker, finishes).await {
                Ok(answers) => {
                    for stale in answers.iter().filter(|answer| answer.applied.is_none()) {
                        info!(lease = %stale.key, "dropped the late outcome of a lost lease");
                    }
                    return Ok(());
                }
                Err(error) if error.is_transient() => {
                    let Some(wait) = waits.next() else { return Err(error) };
                    warn!(
                        error = chain(&error),
                        outcomes = finishes.len(),
                        "could not write outcomes yet"
                    );
                    tokio::time::sleep(*wait).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn log_refused(key: LeaseKey, error: &StoreError) {
    error!(error = chain(&error), lease = %key, "the outcome was refused; its lease will be rescued");
}
