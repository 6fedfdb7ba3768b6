//! From outcomes to rows: in batches, fenced, and tried again while the database is away.
//!
//! The first outcome that arrives is written at once; whatever arrives while that write is under
//! way goes with the next one. So a quiet worker answers without delay and a busy one commits in
//! groups, with no timer to tune.

use crate::error::chain;
use crate::inflight::InFlight;
use crate::logs::Buffers;
use cofferdam_core::ids::WorkerId;
use cofferdam_store::{Finish, FinishEnd, Store, StoreError};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

/// The most outcomes in one transaction.
const BATCH: usize = 500;

/// The most bytes of output in one transaction, unless a single one has more: the database gets
/// them as one message.
const BATCH_BYTES: usize = 32 << 20;

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
    /// Once this is cancelled nothing is tried again.
    pub(crate) hurry: CancellationToken,
}

impl Finisher {
    /// Writes what comes through `outcomes`, until every sender is gone.
    pub(crate) async fn run(&self, mut outcomes: mpsc::UnboundedReceiver<Ended>) {
        let mut ended = Vec::with_capacity(BATCH);
        while outcomes.recv_many(&mut ended, BATCH).await > 0 {
            let (finishes, slots): (Vec<_>, Vec<_>) =
                ended.drain(..).map(|ended| (ended.finish, ended.slot)).unzip();
            self.buffers.finish(&self.store, finishes.iter().map(|finish| finish.key)).await;
            for batch in by_size(&finishes) {
                self.write(batch).await;
            }
            for finish in &finishes {
                self.inflight.remove(finish.key);
            }
            drop(slots);
        }
    }

    /// Writes a batch. What is too much for the database at once is written in halves.
    async fn write(&self, batch: &[Finish]) {
        let mut todo = vec![batch];
        while let Some(batch) = todo.pop() {
            match self.write_with_retries(batch).await {
                Ok(()) => {}
                Err(error) if error.is_overload() && batch.len() > 1 => {
                    let (first, second) = batch.split_at(batch.len() / 2);
                    todo.extend([second, first]);
                }
                Err(error) => error!(
                    error = chain(&error),
                    outcomes = batch.len(),
                    "gave up writing outcomes; their leases will be rescued"
                ),
            }
        }
    }

    async fn write_with_retries(&self, batch: &[Finish]) -> Result<(), StoreError> {
        let mut waits = RETRY_WAITS.iter();
        loop {
            match self.store.finish(self.worker, batch).await {
                Ok(answers) => {
                    for stale in answers.iter().filter(|answer| answer.applied.is_none()) {
                        info!(lease = %stale.key, "dropped the late outcome of a lost lease");
                    }
                    return Ok(());
                }
                Err(error) if error.is_transient() => {
                    let Some(wait) = waits.next() else { return Err(error) };
                    warn!(error = chain(&error), outcomes = batch.len(), "no outcome written yet");
                    let waiting = tokio::time::sleep(*wait);
                    if self.hurry.run_until_cancelled(waiting).await.is_none() {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Cuts outcomes into batches of at most [`BATCH_BYTES`] of output, in order.
fn by_size(finishes: &[Finish]) -> Vec<&[Finish]> {
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (index, finish) in finishes.iter().enumerate() {
        let size = match &finish.end {
            FinishEnd::Completed(output) => output.len(),
            FinishEnd::Failed { .. } => 0,
        };
        if index > start && bytes + size > BATCH_BYTES {
            batches.extend(finishes.get(start..index));
            (start, bytes) = (index, 0);
        }
        bytes += size;
    }
    batches.extend(finishes.get(start..));
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::ids::{JobId, LeaseKey};
    use cofferdam_core::outcome::Usage;
    use uuid::Uuid;

    #[test]
    fn batches_are_bounded_by_their_output() {
        let finish = |mib: usize| Finish {
            key: LeaseKey { job: JobId::from_uuid(Uuid::nil()), run_lease: 1 },
            end: FinishEnd::Completed(vec![0; mib << 20]),
            usage: Usage::default(),
        };
        let finishes: Vec<_> = [8, 8, 8, 8, 8, 1, 40, 1].into_iter().map(finish).collect();
        let sizes: Vec<_> = by_size(&finishes).iter().map(|batch| batch.len()).collect();
        assert_eq!(sizes, [4, 2, 1, 1]);
    }
}
