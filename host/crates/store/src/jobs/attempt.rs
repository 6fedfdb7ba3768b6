//! What a worker says about a running attempt, all of it fenced by the lease.

use super::heartbeat::key_arrays;
use crate::convert::{duration, millis};
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::history::bounded_text;
use cofferdam_core::ids::LeaseKey;
use std::time::Duration;
use uuid::Uuid;

const EXTEND_DEADLINE: &str = include_str!("../../queries/jobs/extend_deadline.sql");
const CHECKPOINT: &str = include_str!("../../queries/jobs/checkpoint.sql");
const PROGRESS: &str = include_str!("../../queries/jobs/progress.sql");

/// The longest note of a progress that is kept, in bytes. Guests write these.
const MAX_NOTE: usize = 1024;

/// How far an attempt is, by its own word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The lease.
    pub key: LeaseKey,
    /// 0 to 100; more counts as 100.
    pub percent: u8,
    /// A word for people, cut at a kilobyte.
    pub note: String,
}

impl Store {
    /// Gives an attempt `by` more time, at most until `cap` after its claim, and answers with the
    /// time that it has now. `None`: the lease is lost.
    pub async fn extend_deadline(
        &self,
        key: LeaseKey,
        by: Duration,
        cap: Duration,
    ) -> Result<Option<Duration>, StoreError> {
        let remaining: Option<i64> = sqlx::query_scalar(EXTEND_DEADLINE)
            .bind(key.job.as_uuid())
            .bind(key.run_lease)
            .bind(millis(by))
            .bind(millis(cap))
            .fetch_optional(self.pool())
            .await?;
        Ok(remaining.map(duration))
    }

    /// Keeps bytes for the next attempt, in place of those before. `false`: the lease is lost, and
    /// nothing was kept.
    pub async fn checkpoint(&self, key: LeaseKey, bytes: &[u8]) -> Result<bool, StoreError> {
        let kept: Option<Uuid> = sqlx::query_scalar(CHECKPOINT)
            .bind(key.job.as_uuid())
            .bind(key.run_lease)
            .bind(bytes)
            .fetch_optional(self.pool())
            .await?;
        Ok(kept.is_some())
    }

    /// Notes how far attempts are. Those whose lease is lost are left out.
    pub async fn set_progress(&self, progress: &[Progress]) -> Result<(), StoreError> {
        let (jobs, run_leases) = key_arrays(progress.iter().map(|said| &said.key));
        let percent = |said: &Progress| i16::from(said.percent.min(100));
        sqlx::query(PROGRESS)
            .bind(jobs)
            .bind(run_leases)
            .bind(progress.iter().map(percent).collect::<Vec<_>>())
            .bind(
                progress.iter().map(|said| bounded_text(&said.note, MAX_NOTE)).collect::<Vec<_>>(),
            )
            .execute(self.pool())
            .await?;
        Ok(())
    }
}
