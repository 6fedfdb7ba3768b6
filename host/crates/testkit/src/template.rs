//! The migrated database that the tests' databases are cloned from.

use crate::database::{SCHEMA, admin_options, connect, execute, settings};
use cofferdam_store::migrate::migration_sql;
use cofferdam_store::{SchemaName, Store};
use std::hash::{DefaultHasher, Hash, Hasher};
use tokio::sync::OnceCell;

/// The advisory lock under which templates are made: any number that nobody else uses.
const LOCK: i64 = 0x00c0_ffe7_da17;

/// The name of the template, which this makes when it is missing. The name tells migrations apart,
/// so that a server that lives for long never hands out yesterday's tables.
pub(crate) async fn name() -> &'static str {
    static NAME: OnceCell<String> = OnceCell::const_new();
    NAME.get_or_init(make).await
}

async fn make() -> String {
    let mut hasher = DefaultHasher::new();
    let schema = SchemaName::new(SCHEMA).expect("the name of the schema is valid");
    migration_sql(&schema).hash(&mut hasher);
    let name = format!("template_{:016x}", hasher.finish());

    // Other test programs may want the same template now. The lock goes with the connection.
    let mut admin = connect(&admin_options()).await;
    execute(&mut admin, format!("SELECT pg_advisory_lock({LOCK})")).await;
    let query = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)";
    let exists: bool = sqlx::query_scalar(query)
        .bind(&name)
        .fetch_one(&mut admin)
        .await
        .expect("the catalogue can be read");
    if !exists {
        // It gets its name when it is complete, so that a half-made one is never cloned.
        let unfinished = format!("{name}_new");
        execute(&mut admin, format!("DROP DATABASE IF EXISTS {unfinished} WITH (FORCE)")).await;
        execute(&mut admin, format!("CREATE DATABASE {unfinished}")).await;
        let store = Store::connect(&settings(&admin_options().database(&unfinished)))
            .await
            .expect("a new database is reachable");
        store.migrate().await.expect("the migrations apply to an empty database");
        store.close().await;
        execute(&mut admin, format!("ALTER DATABASE {unfinished} RENAME TO {name}")).await;
    }
    name
}
