//! Makes jobs claimable whose time has come.

use super::BATCH;
use super::sweep::Swept;
use cofferdam_store::{Store, StoreError};

/// Promotes every due job, in batches until one is short.
pub(crate) async fn run_once(store: &Store) -> Result<Swept, StoreError> {
    let mut promoted = 0;
    loop {
        let rows = store.promote(BATCH).await?;
        promoted += rows;
        if rows < BATCH {
            return Ok(Swept::waking(promoted));
        }
    }
}
