//! How much memory the bodies of all requests may take together.

use crate::error::{Answer, Problem};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

const MIB: usize = 1 << 20;
/// Bytes of body in memory at once, over all requests. Stops many clients who each stay under the
/// limit of a single body from taking the server down together.
const TOTAL: usize = 256 * MIB;
/// Bodies up to this size are let in unasked: they could not fill the budget.
const SMALL: usize = 64 * 1024;
/// How long a request waits for its turn before it is told to come back.
const PATIENCE: Duration = Duration::from_secs(10);

/// The budget.
pub(crate) struct Budget(Arc<Semaphore>);

/// Room for one body. Held for as long as the body is.
pub(crate) struct Room {
    _permit: Option<OwnedSemaphorePermit>,
}

impl Default for Budget {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(TOTAL / MIB)))
    }
}

impl Budget {
    /// Waits for room for a body of at most `bytes`.
    pub(crate) async fn room(&self, bytes: usize) -> Answer<Room> {
        if bytes <= SMALL {
            return Ok(Room { _permit: None });
        }
        // A body that is larger than the whole budget waits for all of it rather than for ever.
        let permits = u32::try_from(bytes.min(TOTAL).div_ceil(MIB)).unwrap_or(u32::MAX);
        match timeout(PATIENCE, Arc::clone(&self.0).acquire_many_owned(permits)).await {
            Ok(Ok(permit)) => Ok(Room { _permit: Some(permit) }),
            Ok(Err(_)) | Err(_) => {
                Err(Problem::unavailable("busy", "the server is busy with large requests")
                    .hint("try again in a moment"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[tokio::test]
    async fn large_bodies_take_turns_and_small_ones_do_not_wait() {
        // given a budget that is used up
        let budget = Budget::default();
        let room = budget.room(TOTAL).await.unwrap();
        // when more bodies come, then a large one waits and a small one does not
        assert!(budget.room(MIB).now_or_never().is_none());
        assert!(budget.room(SMALL).now_or_never().is_some());
        // and the large one goes on when there is room again
        drop(room);
        assert!(budget.room(MIB).now_or_never().is_some());
    }
}
