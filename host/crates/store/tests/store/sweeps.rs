//! Reports of sweeps, and the installation as a whole.

use crate::support::{House, queue, worker, worker_row};
use cofferdam_core::recovery::RECOVERY_BUCKETS;
use cofferdam_store::{Cluster, OrphanCount, SweepReport, WorkerRow};
use std::time::Duration;

const fn report(name: &'static str) -> SweepReport {
    SweepReport {
        name,
        ago: Duration::from_secs(3),
        took: Duration::from_micros(1500),
        last_rows: 2,
        runs: 10,
        rows: 20,
        failures: 0,
        error: None,
        recovery: Vec::new(),
    }
}

async fn cluster(house: &House) -> Cluster {
    house.store.cluster().await.unwrap()
}

#[tokio::test]
async fn reports_add_up_and_the_last_run_is_shown() {
    // Given two sweeps, of which one failed and rescued,
    let house = House::new().await;
    let (one, two) = (worker(), worker());
    let seconds = Duration::from_secs;
    let crash = SweepReport {
        failures: 1,
        error: Some("the table is locked\0".to_owned()),
        recovery: vec![seconds(5), seconds(6), seconds(400)],
        ..report("rescue-crash")
    };
    house.store.report_sweeps(one, 1, &[report("promote"), crash]).await.unwrap();

    // when the next leader reports of a run that went well,
    let well = SweepReport { last_rows: 0, recovery: vec![seconds(1)], ..report("rescue-crash") };
    house.store.report_sweeps(two, 2, &[well]).await.unwrap();

    // then its run is shown, the sums are of both, and the failure is remembered.
    let [promote, crash] = cluster(&house).await.sweeps.try_into().unwrap();
    assert_eq!((promote.name.as_str(), promote.worker, promote.epoch), ("promote", one, 1));
    assert_eq!((promote.runs, promote.rows, promote.failures), (10, 20, 0));
    assert_eq!(promote.recovery, [0; RECOVERY_BUCKETS]);
    assert_eq!((crash.name.as_str(), crash.worker, crash.epoch), ("rescue-crash", two, 2));
    assert_eq!((crash.runs, crash.rows, crash.failures, crash.last_rows), (20, 40, 1, 0));
    assert_eq!(crash.last_took, Duration::from_micros(1500));
    assert_eq!(
        (crash.error, crash.last_error.as_deref()),
        (None, Some("the table is locked\u{fffd}"))
    );
    assert!(crash.last_error_at.unwrap() < crash.last_run_at);
    let counts = [1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    assert_eq!((crash.recovery, crash.recovery_sum), (counts, seconds(412)));
    let age = house.store.now().await.unwrap() - promote.last_run_at;
    assert!(age >= chrono::TimeDelta::seconds(3));
    house.store.report_sweeps(one, 1, &[]).await.unwrap();
}

/// S69: what runs by the database and what workers say that they run, side by side.
#[tokio::test]
async fn leases_that_nobody_accounts_for_are_counted_where_they_are() {
    // Given an empty installation, which has nothing to say,
    let house = House::new().await;
    let empty = cluster(&house).await;
    assert_eq!((empty.running, empty.occupied, empty.orphaned), (0, 0, 0));
    assert_eq!((empty.oldest_beat, empty.leader), (None, None));

    // a worker that says that it runs one of its three jobs, one that never registered, and one
    // that was evicted,
    let (busy, mut presence) = house.present().await;
    let (stranger, evicted) = (worker(), house.register().await);
    let mut jobs = house.jobs(3);
    jobs[2].queue = queue("images");
    house.enqueue_all(&jobs).await;
    assert_eq!(house.claim(busy, 3).await.len(), 3);
    house.running(stranger).await;
    house.running(evicted).await;
    house.store.evict_worker(evicted).await.unwrap();
    let row = WorkerRow { occupied: 1, ..worker_row(busy) };
    presence.renew(&row, crate::support::BOUND).await.unwrap();

    // then nothing is wrong while the claims are young,
    let young = cluster(&house).await;
    assert_eq!((young.running, young.occupied, young.orphaned), (5, 1, 0));
    assert!(young.oldest_beat.unwrap() < Duration::from_mins(1) && young.orphans.is_empty());

    // and four leases are planted when they are old: those that were not beaten last.
    house
        .execute(&format!(
            "UPDATE leases SET claimed_at = now() - INTERVAL '11 seconds'; \
             UPDATE leases SET heartbeat_at = now() - INTERVAL '95 seconds' \
             WHERE worker_id = '{busy}' \
               AND queue_id <> (SELECT id FROM queues WHERE name = 'images')"
        ))
        .await;
    let old = cluster(&house).await;
    assert_eq!((old.running, old.occupied, old.orphaned), (5, 1, 4));
    let default =
        OrphanCount { tenant: "default".to_owned(), queue: "default".to_owned(), count: 4 };
    assert_eq!(old.orphans, [default]);
    assert!(old.oldest_beat.unwrap() >= Duration::from_secs(95));

    // A worker that is gone accounts for nothing, whatever it said.
    house
        .execute(&format!(
            "UPDATE workers SET gone_since = now(), gone_seen_at = now() \
                            WHERE id = '{busy}'"
        ))
        .await;
    let gone = cluster(&house).await;
    assert_eq!((gone.occupied, gone.orphaned), (0, 5));
    assert_eq!(gone.orphans.iter().map(|orphans| orphans.count).collect::<Vec<_>>(), [4, 1]);
}
