//! Leadership.

use crate::support::{BOUND, House, worker, worker_row};
use cofferdam_testkit::wait_for;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(15);
const EXPIRE: &str = "UPDATE leader SET expires_at = now() - INTERVAL '1 second'";

#[tokio::test]
async fn one_worker_leads_until_it_resigns_or_does_not_renew() {
    let house = House::new().await;
    let (one, two) = (worker(), worker());
    assert!(house.store.cluster().await.unwrap().leader.is_none());

    // The first leads and goes on leading.
    assert_eq!(house.store.lead(one, TTL).await.unwrap(), Some(1));
    let first = house.store.cluster().await.unwrap().leader.unwrap();
    assert_eq!(house.store.lead(one, TTL).await.unwrap(), Some(1));
    let renewed = house.store.cluster().await.unwrap().leader.unwrap();
    assert_eq!((renewed.worker, renewed.epoch), (one, 1));
    assert_eq!(renewed.acquired_at, first.acquired_at);
    assert!(renewed.expires_at > first.expires_at);
    assert_eq!(house.store.lead(two, TTL).await.unwrap(), None);

    // What it did not renew is nobody's, and the next one's.
    house.execute(EXPIRE).await;
    assert!(house.store.cluster().await.unwrap().leader.is_none());
    assert_eq!(house.store.lead(two, TTL).await.unwrap(), Some(2));
    assert_eq!(house.store.lead(one, TTL).await.unwrap(), None);

    // Only the leader can resign.
    house.store.resign(one).await.unwrap();
    assert_eq!(house.store.lead(one, TTL).await.unwrap(), None);
    house.store.resign(two).await.unwrap();
    assert_eq!(house.store.lead(one, TTL).await.unwrap(), Some(3));
}

/// S43: any worker can lead, and one of them does.
#[tokio::test(flavor = "multi_thread")]
async fn of_all_who_want_to_lead_at_once_one_does() {
    let house = House::new().await;
    for round in 1..=20 {
        let mut candidates = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let store = house.store.clone();
            candidates.spawn(async move { store.lead(worker(), TTL).await.unwrap() });
        }
        let epochs: Vec<_> = candidates.join_all().await.into_iter().flatten().collect();
        assert_eq!(epochs, [round]);
        house.execute(EXPIRE).await;
    }
}

/// S103: a leader whose process has ended is succeeded at once, not when its time is over.
#[tokio::test]
async fn a_leader_whose_session_has_ended_is_succeeded_at_once() {
    let house = House::new().await;
    let (leader, presence) = house.present().await;
    let (standby, _its_presence) = house.present().await;
    assert_eq!(house.store.lead(leader, TTL).await.unwrap(), Some(1));
    assert_eq!(house.store.lead(standby, TTL).await.unwrap(), None);

    drop(presence);

    wait_for("the standby to lead", BOUND, async || {
        house.store.lead(standby, TTL).await.unwrap().ok_or_else(|| "it does not".to_owned())
    })
    .await;
    assert_eq!(house.store.lead(leader, TTL).await.unwrap(), None);
}

#[tokio::test]
async fn a_leader_that_never_had_a_session_is_left_its_time() {
    let house = House::new().await;
    let leader = house.register().await;
    let (standby, _presence) = house.present().await;
    assert_eq!(house.store.lead(leader, TTL).await.unwrap(), Some(1));
    assert_eq!(house.store.lead(standby, TTL).await.unwrap(), None);
}

#[tokio::test]
async fn a_worker_that_was_evicted_does_not_lead() {
    let house = House::new().await;
    let (leader, mut presence) = house.present().await;
    assert_eq!(house.store.lead(leader, TTL).await.unwrap(), Some(1));
    house.store.evict_worker(leader).await.unwrap();

    assert_eq!(house.store.lead(leader, TTL).await.unwrap(), None);
    assert!(!presence.renew(&worker_row(leader), BOUND).await.unwrap().here);
    house.store.resign(leader).await.unwrap();
    assert_eq!(house.store.lead(worker(), TTL).await.unwrap(), Some(2));
}
