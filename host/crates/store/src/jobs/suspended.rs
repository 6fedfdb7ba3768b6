//! Jobs that wait for something outside, and how they come back.

use crate::convert::length;
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::ids::JobId;
use cofferdam_core::wait::CallbackHash;
use uuid::Uuid;

const CALL_BACK: &str = include_str!("../../queries/jobs/call_back.sql");
const TIME_OUT: &str = include_str!("../../queries/jobs/time_out.sql");

impl Store {
    /// Makes the job claimable that waits for this callback, and keeps what it said for the next
    /// attempt: at most [`MAX_CALLBACK`](cofferdam_core::wait::MAX_CALLBACK) bytes, which the caller
    /// checks. `None`: no job waits for it. It was used, it came too late, its job was cancelled, or
    /// it came before the attempt that made it had ended.
    pub async fn call_back(
        &self,
        callback: CallbackHash,
        answer: &[u8],
    ) -> Result<Option<JobId>, StoreError> {
        let row: Option<(Uuid, i64)> = sqlx::query_as(CALL_BACK)
            .bind(callback.as_bytes())
            .bind(answer)
            .bind(self.channel())
            .fetch_optional(self.pool())
            .await?;
        Ok(row.map(|(job, _)| JobId::from_uuid(job)))
    }

    /// Makes up to `limit` jobs claimable whose wait is over, and answers how many.
    pub async fn time_out_waits(&self, limit: usize) -> Result<usize, StoreError> {
        let (moved, _): (i64, i64) = sqlx::query_as(TIME_OUT)
            .bind(length(limit))
            .bind(self.channel())
            .fetch_one(self.pool())
            .await?;
        Ok(usize::try_from(moved).unwrap_or(0))
    }
}
