//! Work on a component that several ask for at once, and that is done once.

use cofferdam_core::module::Digest;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::OnceCell;

type Cells<T> = HashMap<Digest, Arc<OnceCell<T>>>;

/// One entry for each component that is being worked on. Copies are the same.
#[derive(Clone)]
pub(crate) struct Shared<T>(Arc<Mutex<Cells<T>>>);

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Clone + Send + Sync + 'static> Shared<T> {
    /// What the work on this component comes to: the caller's work, or that of whoever came first.
    /// It goes on although the caller does not wait for it any more, because others may. Nothing
    /// when it panicked.
    pub(crate) async fn run(
        &self,
        digest: Digest,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let cell = self.cells().entry(digest).or_default().clone();
        let theirs = cell.clone();
        let working = tokio::spawn(async move { theirs.get_or_init(|| work).await.clone() });
        let done = working.await.ok();
        // Whoever waits on the same cell has it already. A cell that came after it is left alone.
        let mut cells = self.cells();
        if cells.get(&digest).is_some_and(|current| Arc::ptr_eq(current, &cell)) {
            cells.remove(&digest);
        }
        done
    }

    /// A panic while the lock is held leaves a map that is still whole.
    fn cells(&self) -> MutexGuard<'_, Cells<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::sync::Semaphore;

    #[tokio::test]
    async fn what_many_ask_for_is_done_once() {
        // Given work that waits until it may go on
        let (shared, digest) = (Shared::default(), Digest::of(b"component"));
        let (gate, done) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
        let work = || {
            let (gate, done) = (gate.clone(), done.clone());
            async move {
                let _ = gate.acquire().await;
                done.fetch_add(1, Ordering::SeqCst) + 1
            }
        };
        // when five ask for it, and the first does not wait
        let first = tokio::spawn({
            let (shared, work) = (shared.clone(), work());
            async move { shared.run(digest, work).await }
        });
        while shared.cells().is_empty() {
            tokio::task::yield_now().await;
        }
        first.abort();
        let others: Vec<_> = (0..4)
            .map(|_| {
                let (shared, work) = (shared.clone(), work());
                tokio::spawn(async move { shared.run(digest, work).await })
            })
            .collect();
        gate.add_permits(1);
        // then all have the same answer,
        for other in others {
            assert_eq!(other.await.unwrap(), Some(1));
        }
        // and whoever comes later has it done anew.
        assert_eq!(shared.run(digest, work()).await, Some(2));
    }
}
