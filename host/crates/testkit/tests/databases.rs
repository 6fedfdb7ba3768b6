//! Databases for tests: empty, apart, and gone afterwards.
#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use cofferdam_testkit::{TestDb, server};
use sqlx::{Connection, PgConnection};

async fn exists(database: &str) -> bool {
    let mut admin = PgConnection::connect(&server::admin_url()).await.unwrap();
    sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)")
        .bind(database)
        .fetch_one(&mut admin)
        .await
        .unwrap()
}

async fn name(db: &TestDb) -> String {
    let mut connection = db.connection().await;
    sqlx::query_scalar("SELECT current_database()").fetch_one(&mut connection).await.unwrap()
}

#[tokio::test]
async fn a_database_is_migrated_and_has_no_jobs() {
    let db = TestDb::new().await;

    db.store().await.check_schema().await.unwrap();

    assert_eq!(db.count("jobs").await, 0);
}

#[tokio::test]
async fn databases_are_apart_also_when_they_are_made_at_once() {
    let (one, other, third) = tokio::join!(TestDb::new(), TestDb::new(), TestDb::new());
    sqlx::raw_sql("CREATE TABLE mine ()").execute(&mut one.connection().await).await.unwrap();

    assert_eq!(one.count("mine").await, 0);
    let missing = sqlx::raw_sql("TABLE mine").execute(&mut other.connection().await).await;
    assert!(missing.is_err());
    assert_ne!(name(&other).await, name(&third).await);
}

#[tokio::test]
async fn a_database_is_dropped_with_its_value_whoever_is_connected() {
    let db = TestDb::new().await;
    let name = name(&db).await;
    let store = db.store().await;
    store.ping().await.unwrap();
    assert!(exists(&name).await);

    drop(db);

    assert!(!exists(&name).await);
    assert!(store.ping().await.is_err());
}
