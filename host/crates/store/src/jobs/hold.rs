//! Jobs of versions that are in quarantine.
//!
//! Claims put them by where they meet them; here is how they come back.

use crate::convert::length;
use crate::error::StoreError;
use crate::store::Store;

const HOLD: &str = include_str!("../../queries/jobs/hold.sql");
const RELEASE: &str = include_str!("../../queries/jobs/release_held.sql");

/// How many jobs at the head of a lane are looked at when a claim met only held ones: enough that
/// a backlog of them is out of the way soon, and few enough that the lane is not locked for long.
const MAX_HELD: usize = 1000;

impl Store {
    /// Makes up to `limit` jobs claimable again whose version was lifted out of quarantine or
    /// deleted, or that run whichever version is current and it is another one now. Answers how
    /// many.
    pub async fn release_held(&self, limit: usize) -> Result<usize, StoreError> {
        let (released, _): (i64, i64) = sqlx::query_as(RELEASE)
            .bind(length(limit))
            .bind(self.channel())
            .fetch_one(self.pool())
            .await?;
        Ok(usize::try_from(released).unwrap_or(0))
    }

    /// Puts jobs at the head of some lanes by whose version is in quarantine.
    pub(super) async fn hold(&self, lanes: &[i64]) -> Result<(), StoreError> {
        sqlx::query(HOLD).bind(lanes).bind(length(MAX_HELD)).execute(self.pool()).await?;
        Ok(())
    }
}
