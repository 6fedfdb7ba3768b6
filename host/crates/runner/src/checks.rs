//! Where payloads are checked: away from the runtime that beats hearts.
//!
//! A schema and a payload, both from tenants, can be seconds of work. A few threads do it, and
//! whoever comes while they are busy waits.

use crate::modules::CheckError;
use crate::schema::Schema;
use std::sync::{Arc, LazyLock};
use tokio::sync::Semaphore;

/// How many threads check payloads at once.
const CHECKERS: usize = 2;

static PLACES: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(CHECKERS));

/// Runs `check` on a thread that may block.
pub(crate) async fn elsewhere<T: Send + 'static>(
    check: impl FnOnce() -> T + Send + 'static,
) -> Result<T, tokio::task::JoinError> {
    // The semaphore is never closed.
    let _place = PLACES.acquire().await;
    tokio::task::spawn_blocking(check).await
}

/// Checks one payload, and gives it back.
pub(crate) async fn payload(
    schema: Arc<Schema>,
    payload: Vec<u8>,
) -> (Vec<u8>, Result<(), CheckError>) {
    let kept = Arc::new(payload);
    let checked = kept.clone();
    let result = match elsewhere(move || schema.check(&checked)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(CheckError::Mismatch(error.to_string())),
        Err(_) => Err(CheckError::Mismatch("the check did not come to an end".to_owned())),
    };
    (Arc::unwrap_or_clone(kept), result)
}
