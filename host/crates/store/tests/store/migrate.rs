//! The schema.

use crate::support::{House, TENANT, queue, version, worker};
use cofferdam_core::hint::Hint as _;
use cofferdam_store::{
    SchemaError, SchemaName, Store, StoreError, StoreSettings, Wake, migration_sql,
};
use cofferdam_testkit::TestDb;
use sqlx::AssertSqlSafe;
use std::time::Duration;

async fn other(db: &TestDb) -> Store {
    let settings = StoreSettings { schema: "other".to_owned(), ..db.settings() };
    Store::connect(&settings).await.unwrap()
}

#[tokio::test]
async fn migrating_twice_is_migrating_once() {
    let db = TestDb::new().await;
    let store = other(&db).await;
    let missing = store.check_schema().await.unwrap_err();
    assert!(matches!(missing, StoreError::Schema(SchemaError::NoSchema { .. })));
    assert_eq!(missing.hint().as_deref(), Some("run `cofferdam migrate up`"));
    assert_eq!(store.migration_status().await.unwrap().current, 0);

    assert_eq!(store.migrate().await.unwrap().len(), 3);
    assert_eq!(store.migrate().await.unwrap(), []);

    store.check_schema().await.unwrap();
    let status = store.migration_status().await.unwrap();
    assert_eq!((status.current, status.pending.len()), (status.latest, 0));
    assert_eq!(store.ensure_partitions().await.unwrap(), 0, "made by the migration");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_processes_may_migrate_at_once() {
    let db = TestDb::new().await;
    let mut migrators = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let store = other(&db).await;
        migrators.spawn(async move { store.migrate().await.unwrap().len() });
    }
    assert_eq!(migrators.join_all().await.into_iter().sum::<usize>(), 3);
}

#[tokio::test]
async fn two_installations_in_one_database_do_not_meet() {
    let house = House::new().await;
    let other = other(&house.db).await;
    other.migrate().await.unwrap();
    let mut listener = other.listen().await.unwrap();
    let published = other.publish(&version("images", "theirs")).await.unwrap();

    house.enqueue(house.job()).await;
    let mut theirs = house.job();
    theirs.module = published.module;
    theirs.queue = queue("theirs");
    other.enqueue(std::slice::from_ref(&theirs)).await.unwrap();

    assert!(house.store.job(TENANT, theirs.id).await.unwrap().is_none());
    assert_eq!(house.claim(worker(), 10).await.len(), 1);
    // Notifications come in the order of the commits: the first job's would have been first.
    let heard = tokio::time::timeout(Duration::from_secs(30), listener.recv()).await.unwrap();
    assert_eq!(heard, Wake::Ready { queue: queue("theirs") });
}

#[tokio::test]
async fn a_schema_of_a_later_version_is_refused() {
    let house = House::new().await;
    house.execute("INSERT INTO schema_migrations VALUES (9999, 'later', sha256('later'))").await;

    for refused in [house.store.check_schema().await, house.store.migrate().await.map(drop)] {
        let error = refused.unwrap_err();
        let StoreError::Schema(SchemaError::SchemaNewer { current, .. }) = &error else {
            panic!("{error:?}")
        };
        assert_eq!(*current, 9999);
        assert!(error.hint().unwrap().contains("at least as new"));
    }
}

#[tokio::test]
async fn a_migration_that_was_changed_is_refused() {
    let house = House::new().await;
    house.execute("UPDATE schema_migrations SET checksum = sha256('other')").await;
    let error = house.store.check_schema().await.unwrap_err();
    assert!(matches!(error, StoreError::Schema(SchemaError::Changed { version: 1, .. })));
}

#[tokio::test]
async fn the_script_makes_the_same_schema() {
    let db = TestDb::new().await;
    let script = migration_sql(&SchemaName::new("other").unwrap());
    sqlx::raw_sql(AssertSqlSafe(script)).execute(&mut db.connection().await).await.unwrap();

    let store = other(&db).await;
    store.check_schema().await.unwrap();
    assert_eq!(store.migrate().await.unwrap(), []);
}

#[tokio::test]
async fn a_statement_without_a_schema_says_what_to_do() {
    let db = TestDb::new().await;
    let error = other(&db).await.promote(1).await.unwrap_err();
    assert!(matches!(error, StoreError::NotMigrated(_)), "{error:?}");
    assert!(error.hint().unwrap().contains("migrate up"));
    assert!(!error.is_transient());
}

#[tokio::test]
async fn a_database_that_is_not_there_is_reported_at_once() {
    let settings = StoreSettings::new("postgres://nobody@127.0.0.1:1/nothing");
    let connecting = Store::connect(&settings);
    let error = tokio::time::timeout(Duration::from_secs(10), connecting).await.unwrap().err();
    let error = error.expect("nobody listens on port 1");
    assert!(error.is_transient());
    assert_eq!(error.to_string(), "cannot connect to Postgres at 127.0.0.1:1/nothing");
    assert!(error.hint().is_some());
}
