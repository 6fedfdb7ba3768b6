//! Takes back the leases of workers that went silent or that overran the deadline.

use super::BATCH;
use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::{Verdict, fail_attempt};
use cofferdam_core::outcome::RetryAdvice;
use cofferdam_core::settings::retry_policy;
use cofferdam_store::{LostLease, RescueKind, Store, StoreError};
use std::time::Duration;

/// How long past its deadline a lease is left to its worker, which kills on time by itself: the
/// outcome may be waiting for the database through all the tries to write it.
const GRACE: Duration = Duration::from_secs(30);

/// Rescues leases whose heartbeat is older than `staleness`, and says how many there were.
pub(crate) async fn stale(store: &Store, staleness: Duration) -> Result<usize, StoreError> {
    drain(store, RescueKind::Heartbeat { staleness }, FailureClass::Lost).await
}

/// Rescues leases past their deadline whose worker should have killed the attempt itself.
pub(crate) async fn overdue(store: &Store) -> Result<usize, StoreError> {
    drain(store, RescueKind::Deadline { grace: GRACE }, FailureClass::Deadline).await
}

async fn drain(store: &Store, kind: RescueKind, class: FailureClass) -> Result<usize, StoreError> {
    let decide = |lease: &LostLease| decide(lease, class);
    let (mut rescued, mut after) = (0, None);
    let mut limit = BATCH;
    loop {
        match store.rescue(kind, after, limit, &decide).await {
            Ok(batch) => {
                rescued += batch.ended;
                // Leases that cannot be ended are passed over, so that they do not hide others.
                after = batch.last;
                if batch.seen < limit || after.is_none() {
                    return Ok(rescued);
                }
            }
            Err(error) if error.is_overload() && limit > 1 => limit /= 2,
            Err(error) => return Err(error),
        }
    }
}

fn decide(lease: &LostLease, class: FailureClass) -> Verdict {
    let kind = lease.kind_settings.clone().unwrap_or_default();
    let policy = retry_policy(&lease.options, &kind);
    fail_attempt(class, RetryAdvice::Default, lease.counters, &policy, rand::random::<f64>())
}
