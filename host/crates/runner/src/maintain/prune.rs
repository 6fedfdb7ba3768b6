//! Removes what has been kept long enough.

use super::sweep::Swept;
use cofferdam_store::{Retention, Store, StoreError};

/// The most rows that one transaction removes.
const BATCH: usize = 5000;

/// Removes old history, logs and dead letters, in batches until nothing is left to remove.
pub(crate) async fn run_once(store: &Store, retention: &Retention) -> Result<Swept, StoreError> {
    let mut removed = 0;
    loop {
        let pruned = store.prune(retention, BATCH).await?;
        removed += pruned.rows;
        if !pruned.more {
            return Ok(Swept::quietly(removed));
        }
    }
}
