//! Makes the history tables' partitions for the days ahead.

use super::sweep::Swept;
use cofferdam_store::{Store, StoreError};

/// Makes what is missing.
pub(crate) async fn run_once(store: &Store) -> Result<Swept, StoreError> {
    store.ensure_partitions().await?;
    Ok(Swept::default())
}
