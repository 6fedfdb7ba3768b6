//! Heartbeats, and what must not keep them from renewing leases.

use crate::support::{BOUND, House, TENANT, execute, worker};
use cofferdam_core::ids::LeaseKey;
use cofferdam_store::{Beat, Store, StoreError, StoreSettings};
use cofferdam_testkit::wait_for;
use sqlx::Connection as _;
use sqlx::postgres::PgConnection;
use std::time::Duration;

const fn beat(key: LeaseKey, renewed: bool) -> Beat {
    Beat { key, cancel: false, renewed }
}

/// Waits until a statement, known by a part of its text, waits for a lock.
async fn blocked(house: &House, statement: &str) {
    let mut connection = house.db.connection().await;
    wait_for("a statement to wait", BOUND, async || {
        let waiting: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() \
             AND wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%')",
        )
        .bind(statement)
        .fetch_one(&mut connection)
        .await
        .unwrap();
        if waiting { Ok(()) } else { Err("it does not".to_owned()) }
    })
    .await;
}

/// Writes a checkpoint that is not committed: the job's own next one waits for it.
async fn hold_checkpoint(connection: &mut PgConnection, key: LeaseKey) {
    let sql = format!(
        "INSERT INTO checkpoints (job_id, tenant_id, run_lease, bytes) VALUES ('{}', '{TENANT}', \
         1, '')",
        key.job
    );
    execute(connection, &sql).await;
}

#[tokio::test]
async fn a_heartbeat_renews_what_is_held_and_tells_what_is_not() {
    let house = House::new().await;
    let me = worker();
    let (held, cancelled) = (house.running(me).await, house.running(me).await);
    let lost = LeaseKey { run_lease: held.run_lease + 1, ..held };
    let others = house.running(worker()).await;
    house.store.cancel(TENANT, cancelled.job).await.unwrap();
    let before = house.detail(held.job).await.heartbeat_at;

    let keys = [held, cancelled, lost, others];
    let mut beats = house.store.heartbeats().beat(me, &keys, BOUND).await.unwrap();

    beats.sort_by_key(|beat| beat.key);
    assert_eq!(beats, [beat(held, true), Beat { cancel: true, ..beat(cancelled, true) }]);
    assert!(house.detail(held.job).await.heartbeat_at > before);
}

#[tokio::test]
async fn a_heartbeat_waits_for_nobody_and_says_what_it_did_not_renew() {
    // Given a lease that someone holds locked,
    let house = House::new().await;
    let me = worker();
    let (free, locked) = (house.running(me).await, house.running(me).await);
    let mut other = house.db.connection().await;
    let mut open = other.begin().await.unwrap();
    execute(&mut open, &format!("SELECT FROM leases WHERE job_id = '{}' FOR UPDATE", locked.job))
        .await;

    // when the worker beats, then both count as held, at once, and one as renewed.
    let mut heartbeats = house.store.heartbeats();
    let mut beats = heartbeats.beat(me, &[free, locked], BOUND).await.unwrap();
    beats.sort_by_key(|beat| beat.key);
    assert_eq!(beats, [beat(free, true), beat(locked, false)]);
    open.rollback().await.unwrap();
    let beats = heartbeats.beat(me, &[locked], BOUND).await.unwrap();
    assert_eq!(beats, [beat(locked, true)]);
}

#[tokio::test]
async fn a_checkpoint_on_its_way_does_not_keep_the_lease_from_being_renewed() {
    // Given a pool of one connection, and a checkpoint that has it and is not done,
    let house = House::new().await;
    let me = worker();
    let key = house.running(me).await;
    let mut other = house.db.connection().await;
    let mut open = other.begin().await.unwrap();
    hold_checkpoint(&mut open, key).await;
    let settings = StoreSettings { max_connections: 1, ..house.db.settings() };
    let store = Store::connect(&settings).await.unwrap();
    let write = {
        let store = store.clone();
        tokio::spawn(async move { store.checkpoint(key, b"state").await })
    };
    blocked(&house, "INSERT INTO checkpoints").await;

    // when the worker beats, then the lease is renewed, at once;
    let beats = store.heartbeats().beat(me, &[key], BOUND).await.unwrap();
    assert_eq!(beats, [beat(key, true)]);

    // and the lease could not have ended meanwhile.
    let gone = sqlx::query("SELECT FROM leases WHERE job_id = $1 FOR UPDATE SKIP LOCKED")
        .bind(key.job.as_uuid())
        .fetch_optional(&mut house.db.connection().await)
        .await
        .unwrap();
    assert!(gone.is_none(), "the lease can be deleted while its checkpoint is written");
    open.rollback().await.unwrap();
    assert!(write.await.unwrap().unwrap());
}

#[tokio::test]
async fn a_silent_database_costs_one_heartbeat_and_its_connection() {
    // Given a database that does not answer,
    let house = House::new().await;
    let me = worker();
    let key = house.running(me).await;
    let mut heartbeats = house.store.heartbeats();
    heartbeats.beat(me, &[key], BOUND).await.unwrap();
    let mut other = house.db.connection().await;
    let mut open = other.begin().await.unwrap();
    execute(&mut open, "LOCK TABLE leases IN ACCESS EXCLUSIVE MODE").await;

    // when the worker beats, then it hears so in time;
    let bound = Duration::from_millis(100);
    let error = heartbeats.beat(me, &[key], bound).await.unwrap_err();
    assert!(matches!(error, StoreError::Timeout(_)) && error.is_transient(), "{error}");

    // and the next heartbeat does not wait for the answer to that one.
    open.rollback().await.unwrap();
    assert_eq!(heartbeats.beat(me, &[key], BOUND).await.unwrap(), [beat(key, true)]);
}

#[tokio::test]
async fn a_lost_connection_costs_no_heartbeat() {
    let house = House::new().await;
    let me = worker();
    let key = house.running(me).await;
    let mut heartbeats = house.store.heartbeats();
    heartbeats.beat(me, &[key], BOUND).await.unwrap();

    let mut connection = house.db.connection().await;
    let cut: Vec<bool> = sqlx::query_scalar(
        "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity \
         WHERE datname = current_database() AND query LIKE '-- Renews leases%'",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    assert_eq!(cut, [true]);

    assert_eq!(heartbeats.beat(me, &[key], BOUND).await.unwrap(), [beat(key, true)]);
}

/// S11: one round trip a chunk, which finds its leases by the primary key.
#[tokio::test]
async fn a_heartbeat_finds_leases_by_their_primary_key() {
    let house = House::new().await;
    let me = worker();
    for _ in 0..4 {
        house.enqueue_all(&house.jobs(500)).await;
    }
    let claimed = house.claim(me, 2000).await;
    house.execute("ANALYZE leases").await;
    let keys: Vec<_> = claimed.iter().take(20).map(|job| job.key).collect();
    let sql = include_str!("../../queries/jobs/heartbeat.sql");
    let plan: Vec<String> =
        sqlx::query_scalar(sqlx::AssertSqlSafe(format!("EXPLAIN (COSTS off) {sql}")))
            .bind(me.as_uuid())
            .bind(keys.iter().map(|key| key.job.as_uuid()).collect::<Vec<_>>())
            .bind(keys.iter().map(|key| key.run_lease).collect::<Vec<_>>())
            .fetch_all(&mut house.db.connection().await)
            .await
            .unwrap();
    assert!(plan.iter().any(|line| line.contains("leases_pkey")), "{plan:#?}");
    assert!(!plan.iter().any(|line| line.contains("Seq Scan on leases")), "{plan:#?}");
}

/// S33: a heartbeat rewrites the narrow leases in their own pages and leaves every index alone,
/// even when it renews all leases of a page at once.
#[tokio::test]
async fn heartbeats_are_updates_in_place() {
    let house = House::new().await;
    let me = worker();
    house.enqueue_all(&house.jobs(400)).await;
    let keys: Vec<_> = house.claim(me, 400).await.iter().map(|job| job.key).collect();
    let mut heartbeats = house.store.heartbeats();
    assert_eq!(heartbeats.beat(me, &keys, BOUND).await.unwrap().len(), 400);
    // A session counts what it did when it ends, at the latest.
    drop(heartbeats);

    let mut connection = house.db.connection().await;
    wait_for("the updates to be counted", BOUND, async || {
        let (all, hot): (i64, i64) = sqlx::query_as(
            "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'leases'",
        )
        .fetch_one(&mut connection)
        .await
        .unwrap();
        if all < 400 {
            return Err(format!("{all} of 400 are"));
        }
        assert_eq!(hot, all);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn heartbeats_do_not_touch_an_index() {
    let house = House::new().await;
    let mut connection = house.db.connection().await;
    let indexed: Vec<String> = sqlx::query_scalar(
        "SELECT a.attname::text FROM pg_index AS i \
         JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) \
         WHERE i.indrelid = 'leases'::regclass",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    assert_eq!(indexed, ["job_id"]);
}
