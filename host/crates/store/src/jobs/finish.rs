//! Outcomes of attempts.

use super::quarantine::judge;
use super::settle::{Extent, Settled, settle};
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::fail::Verdict;
use cofferdam_core::ids::{LeaseKey, WorkerId};
use cofferdam_core::outcome::{Failure, Usage};
use cofferdam_core::state::JobState;

/// The outcome of one attempt.
#[derive(Clone, Debug)]
pub struct Finish {
    /// Its lease.
    pub key: LeaseKey,
    /// How it ended.
    pub end: FinishEnd,
    /// What it used.
    pub usage: Usage,
}

/// How an attempt ended, and what becomes of its job.
#[derive(Clone, Debug)]
pub enum FinishEnd {
    /// With this output: the job is completed.
    Completed(Vec<u8>),
    /// Without: the job goes where the verdict says.
    Failed {
        /// Why.
        failure: Failure,
        /// The verdict of `fail_attempt`.
        verdict: Verdict,
    },
}

/// What came of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The lease.
    pub key: LeaseKey,
    /// Where the job is now; `None` when the lease was lost, and the outcome changed nothing.
    pub applied: Option<JobState>,
}

impl Store {
    /// Ends attempts of a worker, all in one transaction, and answers in their order. A cancel
    /// that was asked for wins over every end.
    ///
    /// An outcome that the database refuses by itself is written without its detail. What is
    /// refused even so is logged, left out and left to rescue, so that it does not take the others
    /// with it. A batch that is too much for the database (`StoreError::is_overload`) is the
    /// caller's to split: each part then has a transaction of its own, and what fits is safe.
    pub async fn finish(
        &self,
        worker: WorkerId,
        batch: &[Finish],
    ) -> Result<Vec<Finished>, StoreError> {
        let settled = self.settle_batch(worker, batch).await?;
        let finished = |finish: &Finish| Finished {
            key: finish.key,
            applied: settled.get(&finish.key).copied(),
        };
        Ok(batch.iter().map(finished).collect())
    }

    async fn settle_batch(
        &self,
        worker: WorkerId,
        batch: &[Finish],
    ) -> Result<Settled, StoreError> {
        let batch: Vec<&Finish> = batch.iter().collect();
        let mut transaction = self.begin().await?;
        let at_once = async {
            let channel = self.channel();
            let settled =
                settle(&mut transaction, channel, Some(worker), &batch, Extent::Full).await?;
            judge(&mut transaction, &batch, &settled).await?;
            Ok(settled)
        };
        match self.in_time(at_once).await {
            Ok(settled) => {
                self.commit(transaction).await?;
                return Ok(settled);
            }
            Err(error) if error.is_transient() => return Err(error),
            Err(error) if error.is_overload() && batch.len() > 1 => return Err(error),
            Err(error) => {
                tracing::warn!(%error, outcomes = batch.len(), "an outcome is refused");
                if let Err(error) = transaction.rollback().await {
                    tracing::debug!(%error, "the server closed the connection over it");
                }
            }
        }
        let mut transaction = self.begin().await?;
        let settled = self.settle_apart(&mut transaction, Some(worker), &batch).await?;
        self.in_time(judge(&mut transaction, &batch, &settled)).await?;
        self.commit(transaction).await?;
        Ok(settled)
    }
}
