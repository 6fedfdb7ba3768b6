//! Makes jobs claimable whose time has come.

use super::BATCH;
use cofferdam_store::{Store, StoreError};

/// Promotes every due job and says how many there were.
pub(crate) async fn run_once(store: &Store) -> Result<usize, StoreError> {
    let mut promoted = 0;
    loop {
        let rows = store.promote(BATCH).await?;
        promoted += rows;
        if rows < BATCH {
            return Ok(promoted);
        }
    }
}
