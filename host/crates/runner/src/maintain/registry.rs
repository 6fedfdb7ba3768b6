//! Forgets workers that are gone and hold nothing any more.

use super::sweep::Swept;
use cofferdam_store::{Store, StoreError};
use std::time::Duration;

/// How long a worker may be unseen before its row goes, when its session does not say more. Long
/// enough that every lease of it has been rescued, and that people see it in the list.
const UNSEEN: Duration = Duration::from_mins(10);

/// Removes the rows of workers whose sessions have been gone for `grace`, and of those that have
/// not been seen for long.
pub(crate) async fn run_once(store: &Store, grace: Duration) -> Result<Swept, StoreError> {
    Ok(Swept::quietly(store.forget_workers(grace, UNSEEN).await?))
}
