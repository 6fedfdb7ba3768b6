//! Partitions of the history tables.

use crate::error::StoreError;
use crate::store::Store;

/// Days ahead for which partitions are made. A week without maintenance costs nothing yet; after
/// that the default partitions take the rows.
const DAYS_AHEAD: i32 = 7;

impl Store {
    /// Makes the partitions of today and the days ahead, and returns how many were missing.
    /// Idempotent; while another caller is at it, it does nothing.
    pub async fn ensure_partitions(&self) -> Result<u32, StoreError> {
        let made: i32 = sqlx::query_scalar("SELECT ensure_partitions($1)")
            .bind(DAYS_AHEAD)
            .fetch_one(self.pool())
            .await?;
        Ok(u32::try_from(made).unwrap_or(0))
    }
}
