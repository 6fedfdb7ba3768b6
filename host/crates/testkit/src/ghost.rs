//! Workers that have died, and what they would have done.

use crate::platform::Platform;
use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::{RetryPolicy, fail_attempt};
use cofferdam_core::ids::{LeaseKey, WorkerId};
use cofferdam_core::outcome::{RetryAdvice, Usage};
use cofferdam_core::state::JobState;
use cofferdam_store::{
    ClaimCursor, ClaimRequest, Finish, FinishEnd, LostLease, RescueKind, WorkerRow,
};
use std::time::Duration;
use uuid::Uuid;

impl Platform {
    /// Registers a worker that never says a word again, and claims one job for it.
    pub async fn claim_as_a_ghost(&self) -> LeaseKey {
        let row = WorkerRow {
            id: WorkerId::from_uuid(Uuid::now_v7()),
            hostname: "haunted".to_owned(),
            pid: 0,
            version: String::new(),
            slots: 1,
            queues: Vec::new(),
            occupied: 1,
            leaked: 0,
            draining: false,
        };
        self.store.register_worker(&row).await.expect("the database answers");
        let request = ClaimRequest {
            worker: row.id,
            queues: Vec::new(),
            max: 1,
            default_deadline: Duration::from_mins(5),
            deadline_cap: Duration::from_hours(1),
        };
        let claimed = self.store.claim(&request, &mut ClaimCursor::default()).await;
        claimed.expect("the database answers").first().expect("a job to claim").key
    }

    /// Takes every lease there is, as a sweep does that finds all heartbeats stale.
    pub async fn rescue_everything(&self) {
        let decide = |lease: &LostLease| {
            let policy = RetryPolicy::default();
            let class = FailureClass::Lost;
            fail_attempt(class, RetryAdvice::Default, lease.counters, &policy, 0.0)
        };
        let kind = RescueKind::Heartbeat { staleness: Duration::ZERO };
        self.store.rescue(kind, None, 1000, &decide).await.expect("the database answers");
    }

    /// Writes an outcome for a lease that may be gone; the state that it led to, if any.
    pub async fn finish_as_a_ghost(&self, key: LeaseKey) -> Option<JobState> {
        let end = FinishEnd::Completed(b"from the grave".to_vec());
        let finish = Finish { key, end, usage: Usage::default() };
        let worker = WorkerId::from_uuid(Uuid::now_v7());
        let finished = self.store.finish(worker, &[finish]).await;
        finished.expect("the database answers").first().expect("one answer an outcome").applied
    }
}
