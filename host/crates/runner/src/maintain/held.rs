//! Lets jobs go on that were held because of their version.

use super::BATCH;
use super::sweep::Swept;
use cofferdam_store::{Store, StoreError};

/// Moves every job back whose version has left quarantine, or whose module has another current
/// version by now.
pub(crate) async fn run_once(store: &Store) -> Result<Swept, StoreError> {
    let mut released = 0;
    loop {
        let rows = store.release_held(BATCH).await?;
        released += rows;
        if rows < BATCH {
            return Ok(Swept::waking(released));
        }
    }
}
