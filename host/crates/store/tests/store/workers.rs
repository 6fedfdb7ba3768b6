//! The register of workers.

use crate::support::{BOUND, House, TENANT, queue, request, worker, worker_row};
use cofferdam_core::class::FailureClass;
use cofferdam_core::history::{EVICTED, ORPHANED};
use cofferdam_core::state::JobState;
use cofferdam_store::{ClaimCursor, Registration, RescueKind, Wake, WorkerRow};
use std::time::Duration;

const GRACE: Duration = Duration::from_secs(30);
const LONG: Duration = Duration::from_hours(1);

#[tokio::test]
async fn a_worker_registers_once_renews_over_its_session_and_leaves() {
    let house = House::new().await;
    let row = WorkerRow {
        hostname: "host\0".to_owned(),
        pid: u32::MAX,
        queues: vec![queue("images")],
        ..worker_row(worker())
    };
    // Twice: the answer to the first was lost.
    house.store.register_worker(&row).await.unwrap();
    house.store.register_worker(&row).await.unwrap();
    let first = house.worker_info(row.id).await;
    assert!(!first.session && first.gone_since.is_none());

    let busy = WorkerRow { occupied: 5, leaked: 2, draining: true, ..row.clone() };
    let mut presence = house.store.presence(row.id);
    let here = Registration { here: true, drain: false, locked: true };
    assert_eq!(presence.renew(&busy, BOUND).await.unwrap(), here);

    let [seen] = house.store.workers().await.unwrap().try_into().unwrap();
    assert_eq!((seen.id, seen.pid, seen.slots), (row.id, u32::MAX, 8));
    assert_eq!((seen.occupied, seen.leaked), (5, 2));
    assert!(seen.session && seen.draining && seen.seen_at > first.seen_at);
    assert_eq!((seen.started_at, &seen.queues), (first.started_at, &row.queues));

    house.store.remove_worker(row.id).await.unwrap();
    assert!(house.store.workers().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_worker_that_is_to_drain_hears_of_it_twice() {
    let house = House::new().await;
    let mut listener = house.store.listen().await.unwrap();
    let (me, mut presence) = house.present().await;

    assert!(house.store.request_drain(me).await.unwrap());

    let heard = tokio::time::timeout(BOUND, listener.recv()).await.unwrap();
    assert_eq!(heard, Wake::Drain(me));
    let told = presence.renew(&worker_row(me), BOUND).await.unwrap();
    assert!(told.here && told.drain);
    assert!(house.worker_info(me).await.drain_requested);
    assert!(!house.store.request_drain(worker()).await.unwrap(), "nobody has this id");
}

/// S62, S65: an operator's word takes all leases of a worker away at once.
#[tokio::test]
async fn an_evicted_worker_loses_its_leases_claims_nothing_and_hears_of_it() {
    // Given two workers with a job each,
    let house = House::new().await;
    let mut listener = house.store.listen().await.unwrap();
    let (me, mut presence) = house.present().await;
    let (other, _other_presence) = house.present().await;
    let mine = house.running(me).await;
    let theirs = house.running(other).await;
    let evicted = RescueKind::Evicted { worker: me };
    assert_eq!(house.rescue(evicted, 10, FailureClass::Lost).await, 0, "not yet evicted");

    // when one is evicted,
    assert!(house.store.evict_worker(me).await.unwrap());
    assert!(!house.store.evict_worker(worker()).await.unwrap(), "nobody has this id");
    assert_eq!(house.rescue(evicted, 10, FailureClass::Lost).await, 1);

    // then its job alone comes back, and says why;
    let detail = house.detail(mine.job).await;
    assert_eq!((detail.state, detail.counters.crashes), (JobState::Available, 1));
    assert_eq!((detail.errors[0].code.as_str(), &*detail.errors[0].message), ("evicted", EVICTED));
    assert_eq!(house.state(theirs.job).await, JobState::Running);

    // it claims nothing, and hears of it in both ways.
    assert!(house.claim(me, 10).await.is_empty());
    assert!(!house.store.request_drain(me).await.unwrap());
    let mut heard = Vec::new();
    while heard.last() != Some(&Wake::Evict(me)) {
        heard.push(tokio::time::timeout(BOUND, listener.recv()).await.unwrap());
    }
    assert!(!presence.renew(&worker_row(me), BOUND).await.unwrap().here);
    assert!(house.worker_info(me).await.evicted);
    assert_eq!(house.claim(other, 10).await.len(), 1);
    house.assert_one_place().await;
}

/// S66, S67, S71: leases of a worker that is not registered are found, after a grace.
#[tokio::test]
async fn leases_without_a_worker_come_back_after_a_grace() {
    // Given leases of a worker that registered, of one that never did, and of one that was evicted
    // while its claim was on its way,
    let house = House::new().await;
    let (registered, stranger) = (house.register().await, worker());
    let late = house.register().await;
    let safe = house.running(registered).await;
    let lost = [house.running(stranger).await, house.running(late).await];
    house.store.evict_worker(late).await.unwrap();
    let orphan = RescueKind::Orphan { grace: GRACE };
    assert_eq!(house.rescue(orphan, 10, FailureClass::Lost).await, 0, "within the grace");

    // when the grace is over,
    house.execute("UPDATE leases SET claimed_at = now() - INTERVAL '31 seconds'").await;
    assert_eq!(house.rescue(orphan, 10, FailureClass::Lost).await, 2);

    // then those of the last two come back.
    for key in lost {
        let detail = house.detail(key.job).await;
        assert_eq!((detail.state, detail.counters.crashes), (JobState::Available, 1));
        let error = &detail.errors[0];
        assert_eq!((error.code.as_str(), error.message.as_str()), ("orphaned", ORPHANED));
    }
    assert_eq!(house.state(safe.job).await, JobState::Running);
    house.assert_one_place().await;
}

#[tokio::test]
async fn workers_that_are_no_more_are_forgotten_unless_they_hold_leases() {
    // Given workers that are there, not seen for long, and not seen for long with a lease,
    let house = House::new().await;
    let (here, _presence) = house.present().await;
    let (unseen, holding) = (house.register().await, house.register().await);
    house.running(holding).await;
    house
        .execute(&format!(
            "UPDATE workers SET seen_at = now() - INTERVAL '2 hours' WHERE id <> '{here}'"
        ))
        .await;

    // when the register is cleaned, then the second is forgotten, and hears of it when it returns.
    assert_eq!(house.store.forget_workers(GRACE, LONG).await.unwrap(), 1);
    let left: Vec<_> = house.store.workers().await.unwrap();
    assert_eq!(left.iter().map(|worker| worker.id).collect::<Vec<_>>(), [here, holding]);
    let mut late = house.store.presence(unseen);
    assert!(!late.renew(&worker_row(unseen), BOUND).await.unwrap().here);

    // Once the lease has ended, so is the third.
    house.execute("UPDATE leases SET heartbeat_at = now() - INTERVAL '2 hours'").await;
    let stale = RescueKind::Heartbeat { staleness: GRACE };
    assert_eq!(house.rescue(stale, 10, FailureClass::Lost).await, 1);
    assert_eq!(house.store.forget_workers(GRACE, LONG).await.unwrap(), 1);
}

/// S67: a worker that is registering is not mistaken for one that is gone.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_registers_before_it_claims_is_never_an_orphan() {
    let house = House::new().await;
    house.enqueue_all(&house.jobs(50)).await;
    let orphan = RescueKind::Orphan { grace: Duration::ZERO };
    for _ in 0..50 {
        let starting = async {
            let me = house.register().await;
            house.store.claim(&request(me, 1), &mut ClaimCursor::default()).await.unwrap()
        };
        let (claimed, rescued) =
            tokio::join!(starting, house.rescue(orphan, 10, FailureClass::Lost));
        assert_eq!((claimed.len(), rescued), (1, 0));
        assert_eq!(
            house.store.job_state(TENANT, claimed[0].key.job).await.unwrap(),
            Some(JobState::Running)
        );
    }
}
