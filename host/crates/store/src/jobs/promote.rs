//! Jobs whose time has come.

use crate::convert::{duration, length};
use crate::error::StoreError;
use crate::store::Store;
use std::time::Duration;

const PROMOTE: &str = include_str!("../../queries/jobs/promote.sql");
const NEXT_DUE: &str = "SELECT (EXTRACT(EPOCH FROM due_at - now()) * 1000)::bigint \
                        FROM scheduled ORDER BY due_at LIMIT 1";

impl Store {
    /// Makes up to `limit` jobs claimable that are due, and answers how many.
    pub async fn promote(&self, limit: usize) -> Result<usize, StoreError> {
        let (moved, _): (i64, i64) = sqlx::query_as(PROMOTE)
            .bind(length(limit))
            .bind(self.channel())
            .fetch_one(self.pool())
            .await?;
        Ok(usize::try_from(moved).unwrap_or(0))
    }

    /// How long it is until the next job is due; zero when one is, `None` when none waits.
    pub async fn next_due(&self) -> Result<Option<Duration>, StoreError> {
        let due: Option<i64> = sqlx::query_scalar(NEXT_DUE).fetch_optional(self.pool()).await?;
        Ok(due.map(duration))
    }
}
