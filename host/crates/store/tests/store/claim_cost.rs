//! What a claim reads. Plans and buffers are what holds when the machine is busy; times are not.

use crate::support::{House, request, worker};
use chrono::TimeDelta;
use cofferdam_core::Time;
use cofferdam_store::ClaimCursor;
use serde_json::Value;
use sqlx::types::Json;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use uuid::Uuid;

const CLAIM: &str = include_str!("../../queries/jobs/claim.sql");

/// The plan of a claim of one job from a head or from behind a key.
async fn explain(connection: &mut PgConnection, options: &str, key: Option<(i64, Time)>) -> Value {
    let (lanes, times): (Vec<_>, Vec<_>) = key.into_iter().unzip();
    let sql = AssertSqlSafe(format!("EXPLAIN (FORMAT JSON, {options}) {CLAIM}"));
    let Json(plan): Json<Value> = sqlx::query_scalar(sql)
        .bind(worker().as_uuid())
        .bind(Vec::<String>::new())
        .bind(1_i64)
        .bind(16_i64)
        .bind(0_i64)
        .bind(300_000_i64)
        .bind(3_600_000_i64)
        .bind(&lanes)
        .bind(vec![2_i16; lanes.len()])
        .bind(&times)
        .bind(vec![Uuid::nil(); lanes.len()])
        .bind(64_i64)
        .fetch_one(connection)
        .await
        .unwrap();
    plan
}

/// Every node of a plan.
fn nodes(plan: &Value) -> Vec<&Value> {
    let children = plan["Plans"].as_array().into_iter().flatten();
    std::iter::once(plan).chain(children.flat_map(nodes)).collect()
}

#[tokio::test]
async fn a_claim_reads_the_queue_by_its_index_only() {
    let house = House::new().await;
    house.enqueue_all(&house.jobs(5000)).await;
    house.execute("ANALYZE").await;
    let now = house.store.now().await.unwrap();
    let mut connection = house.db.connection().await;

    for key in [None, Some((1, now - TimeDelta::hours(1)))] {
        let plan = explain(&mut connection, "COSTS off", key).await;
        let scans: Vec<_> = nodes(&plan[0]["Plan"])
            .into_iter()
            .filter(|node| node["Relation Name"] == "ready" && node["Node Type"] != "ModifyTable")
            .map(|node| (node["Node Type"].clone(), node["Index Name"].clone()))
            .collect();
        assert!(scans.iter().any(|(_, index)| index == "ready_in_order"), "{scans:?}");
        for (scan, index) in scans {
            assert!(index == "ready_in_order" || scan == "Tid Scan", "{scan} {index}");
        }
    }
}

#[tokio::test]
async fn dead_entries_at_the_head_are_not_read_again() {
    // Given a transaction that keeps every dead row alive,
    let house = House::new().await;
    let mut pin = house.db.connection().await;
    let mut pinned = pin.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ").await.unwrap();
    sqlx::query("SELECT count(*) FROM ready").execute(&mut *pinned).await.unwrap();

    // and a backlog of which most has been claimed,
    let now = house.store.now().await.unwrap();
    let mut jobs = house.jobs(6000);
    for (job, second) in jobs.iter_mut().zip(0..) {
        job.run_at = Some(now - TimeDelta::hours(2) + TimeDelta::seconds(second));
    }
    house.enqueue_all(&jobs).await;
    let (me, mut cursor) = (worker(), ClaimCursor::default());
    for _ in 0..11 {
        assert_eq!(house.store.claim(&request(me, 500), &mut cursor).await.unwrap().len(), 500);
    }

    // when the next job is claimed from the head and from behind the key,
    let lane: i64 =
        sqlx::query_scalar("SELECT id FROM queues").fetch_one(&mut *pinned).await.unwrap_or(1);
    let mut connection = house.db.connection().await;
    let last = jobs[5499].run_at.unwrap();
    let mut read = Vec::new();
    for key in [None, Some((lane, last))] {
        let mut undone = connection.begin().await.unwrap();
        let plan = explain(&mut undone, "ANALYZE, BUFFERS", key).await;
        undone.rollback().await.unwrap();
        read.push(plan[0]["Plan"]["Shared Hit Blocks"].as_u64().unwrap());
    }

    // then the key spares the claim what lies before it.
    assert!(read[1] * 2 < read[0], "blocks read from the head and behind the key: {read:?}");
}

#[tokio::test]
async fn idle_queues_cost_a_claim_nothing() {
    let house = House::new().await;
    house.enqueue(house.job()).await;
    let mut connection = house.db.connection().await;
    let mut read = Vec::new();
    for idle in [0, 1000] {
        house
            .execute(&format!(
                "INSERT INTO queues (tenant_id, name) \
                 SELECT id, 'idle-' || n FROM tenants, generate_series(1, {idle}) AS n; ANALYZE"
            ))
            .await;
        let mut undone = connection.begin().await.unwrap();
        let plan = explain(&mut undone, "ANALYZE, BUFFERS", None).await;
        undone.rollback().await.unwrap();
        read.push(plan[0]["Plan"]["Shared Hit Blocks"].as_u64().unwrap());
    }
    assert!(read[1] <= read[0] + 20, "blocks read without and with idle queues: {read:?}");
}
