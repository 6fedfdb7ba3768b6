//! Whose component is compiled next: one of each tenant at a time, and few in all.

use cofferdam_core::ids::TenantId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Hands out turns. Copies are the same.
#[derive(Clone, Debug)]
pub(crate) struct Turns(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// One permit for each compiler that may be there at once.
    all: Arc<Semaphore>,
    /// One permit for each tenant that has a turn or waits for one.
    tenants: Mutex<HashMap<TenantId, Weak<Semaphore>>>,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _place: Option<OwnedSemaphorePermit>,
    _own: Option<OwnedSemaphorePermit>,
}

impl Turns {
    /// At most `most` (at least 1) at once.
    pub(crate) fn new(most: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        Self(Arc::new(Inner { all: Arc::new(Semaphore::new(most)), tenants: Mutex::default() }))
    }

    /// Waits for the tenant's turn, first come, first served. May be dropped while it waits. A
    /// tenant with many components waits for itself, and takes nobody else's place meanwhile.
    pub(crate) async fn take(&self, tenant: TenantId) -> Turn {
        let own = self.of(tenant);
        // Nobody closes a semaphore; were one closed, there would be no bound to wait for.
        let own = own.acquire_owned().await.ok();
        let place = Arc::clone(&self.0.all).acquire_owned().await.ok();
        Turn { _place: place, _own: own }
    }

    fn of(&self, tenant: TenantId) -> Arc<Semaphore> {
        let mut tenants = self.tenants();
        if let Some(own) = tenants.get(&tenant).and_then(Weak::upgrade) {
            return own;
        }
        // Those that nobody waits for any more go when another one comes.
        tenants.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(1));
        tenants.insert(tenant, Arc::downgrade(&own));
        own
    }

    /// A panic while the lock is held leaves a map that is still whole.
    fn tenants(&self) -> MutexGuard<'_, HashMap<TenantId, Weak<Semaphore>>> {
        self.0.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Poll;
    use std::{pin::pin, time::Duration};
    use uuid::Uuid;

    fn tenant(number: u128) -> TenantId {
        TenantId::from_uuid(Uuid::from_u128(number))
    }

    /// Whether a turn is to be had at once.
    async fn is_free(turns: &Turns, number: u128) -> bool {
        let mut turn = pin!(turns.take(tenant(number)));
        std::future::poll_fn(|context| Poll::Ready(turn.as_mut().poll(context).is_ready())).await
    }

    #[tokio::test]
    async fn a_tenant_waits_for_itself_and_not_for_others() {
        // Given three places, and a tenant that is compiling
        let turns = Turns::new(3);
        let first = turns.take(tenant(1)).await;
        // then its next component waits, and takes nobody's place,
        assert!(!is_free(&turns, 1).await);
        let waiting = tokio::spawn({
            let turns = turns.clone();
            async move { turns.take(tenant(1)).await }
        });
        let (_second, third) = (turns.take(tenant(2)).await, turns.take(tenant(3)).await);
        assert!(!is_free(&turns, 4).await, "all places are taken");
        drop(third);
        assert!(is_free(&turns, 4).await);
        // until the one before it is done.
        drop(first);
        let turn = tokio::time::timeout(Duration::from_secs(30), waiting).await;
        drop(turn.unwrap().unwrap());
        assert!(is_free(&turns, 1).await);
        assert!(turns.tenants().len() <= 3, "{turns:?}");
    }
}
