//! Who runs the sweeps.
//!
//! Claiming needs no leader, and two leaders at once do no harm: each sweep is safe to run with
//! others. One is enough, though, and spares the database the repetition.

use crate::convert::millis;
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::Time;
use cofferdam_core::ids::WorkerId;
use std::time::Duration;

const LEAD: &str = include_str!("../queries/leader/lead.sql");
const RESIGN: &str = include_str!("../queries/leader/resign.sql");

/// Who leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaderInfo {
    /// The worker.
    pub worker: WorkerId,
    /// How often the leadership has changed hands.
    pub epoch: i64,
    /// Since when this one leads.
    pub acquired_at: Time,
    /// Until when, unless it renews.
    pub expires_at: Time,
}

impl Store {
    /// Takes the leadership for `ttl`, or renews it, and answers with its epoch. `None`: another
    /// worker leads.
    ///
    /// A leader whose session has ended is succeeded at once, another one when its time is over. A
    /// worker that was evicted does not lead.
    pub async fn lead(&self, worker: WorkerId, ttl: Duration) -> Result<Option<i64>, StoreError> {
        let epoch = sqlx::query_scalar(LEAD)
            .bind(worker.as_uuid())
            .bind(millis(ttl))
            .fetch_optional(self.pool())
            .await?;
        Ok(epoch)
    }

    /// Gives the leadership back, when the worker has it.
    pub async fn resign(&self, worker: WorkerId) -> Result<(), StoreError> {
        sqlx::query(RESIGN).bind(worker.as_uuid()).execute(self.pool()).await?;
        Ok(())
    }
}
