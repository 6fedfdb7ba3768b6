//! What it costs that attempts run: what is written meanwhile, and what the sweeps read.

use crate::support::{House, worker};
use cofferdam_core::ids::{JobId, LeaseKey};
use cofferdam_store::Progress;
use serde_json::Value;
use sqlx::AssertSqlSafe;
use sqlx::types::Json;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// The statements that look for leases to rescue after a time.
const LOST: [&str; 4] = [
    include_str!("../../queries/jobs/lost_stale.sql"),
    include_str!("../../queries/jobs/lost_late.sql"),
    include_str!("../../queries/jobs/lost_gone.sql"),
    include_str!("../../queries/jobs/lost_orphan.sql"),
];

/// The tables that are read as a whole: as large as what runs at the moment, or a handful of rows.
const SMALL: [&str; 3] = ["leases", "workers", "kinds"];

/// Every table in a plan, and how it is read.
fn scans(plan: &Value, found: &mut BTreeSet<(String, String)>) {
    let text = |name: &str| plan[name].as_str().map(str::to_owned);
    if let (Some(table), Some(node)) = (text("Relation Name"), text("Node Type"))
        && node != "LockRows"
    {
        found.insert((table, node));
    }
    for child in plan["Plans"].as_array().into_iter().flatten() {
        scans(child, found);
    }
}

/// S35: however many jobs there are and were, a sweep reads the leases, and of the jobs those that
/// it takes.
#[tokio::test]
async fn sweeps_read_leases_and_find_the_rest_by_index() {
    let house = House::new().await;
    house.enqueue_all(&house.jobs(5000)).await;
    house.claim(worker(), 20).await;
    house.execute("ANALYZE").await;

    for sql in LOST {
        let explain = AssertSqlSafe(format!("EXPLAIN (FORMAT JSON, COSTS off) {sql}"));
        let Json(plan): Json<Value> = sqlx::query_scalar(explain)
            .bind(90_000_i64)
            .bind(500_i64)
            .bind(None::<Uuid>)
            .fetch_one(&mut house.db.connection().await)
            .await
            .unwrap();
        let mut found = BTreeSet::new();
        scans(&plan[0]["Plan"], &mut found);
        assert!(found.iter().any(|(table, _)| table == "leases"), "{plan:#}");
        for (table, node) in found {
            let by_index = node.starts_with("Index");
            assert!(by_index || SMALL.contains(&&*table), "{node} of {table}: {plan:#}");
            assert!(table == "jobs" || SMALL.contains(&&*table), "{table}: {plan:#}");
        }
    }
}

/// S38: what changes while an attempt runs is not in the job's row.
#[tokio::test]
async fn the_jobs_own_row_stays_as_it_was_submitted_while_it_runs() {
    // Given a job as it was submitted,
    let house = House::new().await;
    let me = worker();
    let id = house.enqueue(house.job()).await;
    let row = async || {
        let sql = format!(
            "SELECT xmin::text || ctid::text || j::text FROM jobs AS j \
                           WHERE id = '{id}'"
        );
        let row: String = sqlx::query_scalar(AssertSqlSafe(sql))
            .fetch_one(&mut house.db.connection().await)
            .await
            .unwrap();
        row
    };
    let submitted = row().await;

    // when it is claimed, renewed, gets more time, keeps a checkpoint and says how far it is,
    let key = house.claim_again(me, id).await.key;
    let minute = Duration::from_mins(1);
    let beats = house.store.heartbeats().beat(me, &[key], minute).await.unwrap();
    assert!(beats.iter().all(|beat| beat.renewed), "{beats:?}");
    house.store.extend_deadline(key, minute, minute * 60).await.unwrap().unwrap();
    assert!(house.store.checkpoint(key, b"half").await.unwrap());
    let progress = Progress { key, percent: 50, note: "half".to_owned() };
    house.store.set_progress(&[progress]).await.unwrap();

    // then its row is the very same.
    assert_eq!(row().await, submitted);
}

/// S34: 50,000 attempts in flight are renewed in statements of 500, one after the other, within one
/// interval of 30 s with room to spare.
#[tokio::test]
async fn fifty_thousand_leases_are_renewed_within_an_interval() {
    // Given a lease, and 49,999 like it,
    let house = House::new().await;
    let me = worker();
    house.running(me).await;
    house
        .execute(
            "INSERT INTO jobs SELECT copy.* FROM jobs AS j, generate_series(1, 49999) AS n, \
             LATERAL jsonb_populate_record(j, jsonb_build_object('id', md5(n::text)::uuid)) AS copy; \
             INSERT INTO leases SELECT copy.* FROM leases AS l JOIN jobs AS j ON j.id <> l.job_id, \
             LATERAL jsonb_populate_record(l, jsonb_build_object('job_id', j.id)) AS copy; \
             ANALYZE jobs, leases",
        )
        .await;
    let keys: Vec<(Uuid, i64)> = sqlx::query_as("SELECT job_id, run_lease FROM leases")
        .fetch_all(&mut house.db.connection().await)
        .await
        .unwrap();
    let keys: Vec<_> = keys
        .into_iter()
        .map(|(job, run_lease)| LeaseKey { job: JobId::from_uuid(job), run_lease })
        .collect();
    assert_eq!(keys.len(), 50_000);

    // when all of them are renewed, then that takes a part of an interval.
    let interval = Duration::from_secs(30);
    let mut line = house.store.heartbeats();
    let start = Instant::now();
    let mut statements = 0;
    for chunk in keys.chunks(500) {
        let beats = line.beat(me, chunk, interval).await.unwrap();
        assert!(beats.len() == chunk.len() && beats.iter().all(|beat| beat.renewed));
        statements += 1;
    }
    assert_eq!(statements, 100);
    assert!(start.elapsed() < interval, "{:?}", start.elapsed());
}
