//! What a worker says about a running attempt, all of it fenced by the lease.

use crate::convert::{duration, millis};
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::history::bounded_text;
use cofferdam_core::ids::{JobId, LeaseKey, WorkerId};
use std::time::Duration;
use uuid::Uuid;

const HEARTBEAT: &str = include_str!("../../queries/jobs/heartbeat.sql");
const EXTEND_DEADLINE: &str = include_str!("../../queries/jobs/extend_deadline.sql");
const CHECKPOINT: &str = include_str!("../../queries/jobs/checkpoint.sql");
const PROGRESS: &str = include_str!("../../queries/jobs/progress.sql");

/// The longest note of a progress that is kept, in bytes. Guests write these.
const MAX_NOTE: usize = 1024;

/// A lease that the worker still holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    /// The lease.
    pub key: LeaseKey,
    /// Whether someone asked for the job to be cancelled.
    pub cancel: bool,
}

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

/// Leases as one array a column.
pub(super) fn key_arrays<'a>(
    keys: impl IntoIterator<Item = &'a LeaseKey>,
) -> (Vec<Uuid>, Vec<i64>) {
    keys.into_iter().map(|key| (key.job.as_uuid(), key.run_lease)).unzip()
}

impl Store {
    /// Renews leases, and answers with those that are still held. Never waits for a lock: a lease
    /// that someone is ending at this moment counts as held, and is gone with the next heartbeat.
    pub async fn heartbeat(
        &self,
        worker: WorkerId,
        keys: &[LeaseKey],
    ) -> Result<Vec<Beat>, StoreError> {
        let (jobs, run_leases) = key_arrays(keys);
        let rows: Vec<(Uuid, i64, bool)> = sqlx::query_as(HEARTBEAT)
            .bind(worker.as_uuid())
            .bind(jobs)
            .bind(run_leases)
            .fetch_all(self.pool())
            .await?;
        let beat = |(job, run_lease, cancel)| Beat {
            key: LeaseKey { job: JobId::from_uuid(job), run_lease },
            cancel,
        };
        Ok(rows.into_iter().map(beat).collect())
    }

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
