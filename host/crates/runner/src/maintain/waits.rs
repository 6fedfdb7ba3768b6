//! Lets jobs go on for which nobody called back in time, or that have slept long enough.

use super::BATCH;
use super::sweep::Swept;
use cofferdam_store::{Store, StoreError};

/// Ends every wait that is over, in batches until one is short.
pub(crate) async fn run_once(store: &Store) -> Result<Swept, StoreError> {
    let mut ended = 0;
    loop {
        let rows = store.time_out_waits(BATCH).await?;
        ended += rows;
        if rows < BATCH {
            return Ok(Swept::waking(ended));
        }
    }
}
