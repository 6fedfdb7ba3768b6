//! Takes back the leases that their workers do not end.

use super::BATCH;
use super::sweep::Swept;
use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::{Verdict, fail_attempt};
use cofferdam_core::ids::WorkerId;
use cofferdam_core::outcome::RetryAdvice;
use cofferdam_core::settings::retry_policy;
use cofferdam_store::{LostLease, RescueKind, Store, StoreError};

/// Rescues every lease of one kind, in batches until one is short.
///
/// Each batch is one transaction, and any number of callers may sweep at once. Leases that cannot
/// be ended are passed over, so that they do not hide those behind them.
pub(crate) async fn run_once(store: &Store, kind: RescueKind) -> Result<Swept, StoreError> {
    let class = match kind {
        RescueKind::Deadline { .. } => FailureClass::Deadline,
        RescueKind::Heartbeat { .. }
        | RescueKind::Crash { .. }
        | RescueKind::Orphan { .. }
        | RescueKind::Evicted { .. } => FailureClass::Lost,
    };
    let decide = |lease: &LostLease| decide(lease, class);
    let mut swept = Swept::default();
    let (mut after, mut limit) = (None, BATCH);
    loop {
        match store.rescue(kind, after, limit, &decide).await {
            Ok(batch) => {
                swept.rows += batch.ended;
                swept.wakes |= batch.ended > 0;
                swept.recovery.extend(batch.recovery);
                after = batch.last;
                if batch.seen < limit || after.is_none() {
                    return Ok(swept);
                }
            }
            Err(error) if error.is_overload() && limit > 1 => limit /= 2,
            Err(error) => return Err(error),
        }
    }
}

/// Declares a worker dead on an operator's word, and takes its leases back. `None`: there is no such
/// worker. A worker that lives all the same hears of it, kills its guests and comes back under a new
/// id.
pub async fn evict(store: &Store, worker: WorkerId) -> Result<Option<usize>, StoreError> {
    if !store.evict_worker(worker).await? {
        return Ok(None);
    }
    // Should this process die now, the leases are orphans, which the leader takes back.
    Ok(Some(run_once(store, RescueKind::Evicted { worker }).await?.rows))
}

fn decide(lease: &LostLease, class: FailureClass) -> Verdict {
    let kind = lease.kind_settings.clone().unwrap_or_default();
    let policy = retry_policy(&lease.options, &kind);
    fail_attempt(class, RetryAdvice::Default, lease.counters, &policy, rand::random::<f64>())
}
