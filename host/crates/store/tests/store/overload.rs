//! What is too much for the database.

use crate::support::{House, USAGE, completed, execute, worker};
use cofferdam_core::state::JobState;
use cofferdam_store::{Finish, Store, StoreError, StoreSettings};
use sqlx::Connection as _;
use std::time::Duration;

/// A store whose statements may take a moment only.
async fn impatient(house: &House) -> Store {
    let settings =
        StoreSettings { statement_timeout: Duration::from_millis(200), ..house.db.settings() };
    Store::connect(&settings).await.unwrap()
}

#[tokio::test]
async fn what_a_statement_brings_upon_itself_is_not_worth_another_try() {
    let house = House::new().await;
    let mut connection = house.db.connection().await;
    // Statement timeout, out of memory, program limit, message too long; then what passes.
    for (code, overload) in [
        ("57014", true),
        ("53200", true),
        ("54000", true),
        ("08P01", true),
        ("57P01", false),
        ("53300", false),
        ("40P01", false),
    ] {
        let raise = format!("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{code}'; END $$");
        let raised = sqlx::raw_sql(sqlx::AssertSqlSafe(raise)).execute(&mut connection).await;
        let error = StoreError::from(raised.unwrap_err());
        assert_eq!((error.is_overload(), error.is_transient()), (overload, !overload), "{code}");
    }
}

#[tokio::test]
async fn a_batch_that_takes_too_long_is_handed_back_to_be_split() {
    // Given two outcomes, of which one cannot be written in time,
    let house = House::new().await;
    let store = impatient(&house).await;
    let me = worker();
    let (free, locked) = (house.running(me).await, house.running(me).await);
    let mut other = house.db.connection().await;
    let mut open = other.begin().await.unwrap();
    execute(&mut open, &format!("SELECT FROM leases WHERE job_id = '{}' FOR UPDATE", locked.job))
        .await;
    let batch = [free, locked].map(|key| Finish { key, end: completed(), usage: USAGE });

    // when they are written together, then the caller hears why not;
    let error = store.finish(me, &batch).await.unwrap_err();
    assert!(error.is_overload() && !error.is_transient(), "{error}");

    // and when apart, then the one does not suffer from the other.
    let [first, second] = batch.as_slice() else { unreachable!() };
    let first = store.finish(me, std::slice::from_ref(first)).await.unwrap();
    assert_eq!(first[0].applied, Some(JobState::Completed));
    assert!(store.finish(me, std::slice::from_ref(second)).await.unwrap_err().is_overload());
    open.rollback().await.unwrap();
    let second = store.finish(me, std::slice::from_ref(second)).await.unwrap();
    assert_eq!(second[0].applied, Some(JobState::Completed));
    house.assert_one_place().await;
}

/// S92: a database that takes connections and never answers is an error within the bound, and not
/// a hang.
#[tokio::test]
async fn a_database_that_never_answers_is_reported_in_time() {
    // Given a server that accepts, and says nothing,
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://nobody@{}/nothing", silent.local_addr().unwrap());
    let bound = Duration::from_millis(300);
    let settings = StoreSettings { acquire_timeout: bound, ..StoreSettings::new(url) };

    // when someone connects, then they hear so in time.
    let connecting = tokio::time::timeout(Duration::from_secs(20), Store::connect(&settings));
    let error = connecting.await.expect("an answer in time").unwrap_err();
    assert!(matches!(error, StoreError::Connect { .. }) && error.is_transient(), "{error}");
}

/// S92: a statement that takes longer than allowed, or finds no connection, is an error.
#[tokio::test]
async fn a_statement_is_bounded_and_so_is_the_wait_for_a_connection() {
    // Given a pool of one connection, and a register that somebody holds locked,
    let house = House::new().await;
    let settings = StoreSettings {
        max_connections: 1,
        statement_timeout: Duration::from_millis(400),
        acquire_timeout: Duration::from_millis(100),
        ..house.db.settings()
    };
    let store = Store::connect(&settings).await.unwrap();
    store.workers().await.unwrap();
    let mut other = house.db.connection().await;
    let mut open = other.begin().await.unwrap();
    execute(&mut open, "LOCK TABLE workers IN ACCESS EXCLUSIVE MODE").await;

    // when two read it, then one is cut off, and the other does not get that far.
    let (first, second) = tokio::join!(store.workers(), store.workers());
    let (first, second) = (first.unwrap_err(), second.unwrap_err());
    assert!(first.is_overload(), "{first:?}");
    assert!(matches!(second, StoreError::PoolTimeout), "{second:?}");
    open.rollback().await.unwrap();
    store.workers().await.unwrap();
}
