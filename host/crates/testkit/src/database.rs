//! A database for one test.

use crate::proxy::{Proxy, Upstream};
use crate::{server, template};
use cofferdam_store::{Store, StoreSettings};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};
use std::error::Error;
use std::str::FromStr;
use std::time::Duration;
use uuid::Uuid;

/// The schema that the platform's tables are in.
pub(crate) const SCHEMA: &str = "cofferdam";
/// How long the end of a test may wait for its database to go.
const DROP_BOUND: Duration = Duration::from_secs(10);

/// More segments than a log of changes has ready for use, with the settings of a test.
const SEGMENTS: usize = 100;

/// A database of its own for one test, with the platform's tables in it and no rows. It is cloned
/// from a template, which is fast, and dropped with this value, whoever is still connected.
pub struct TestDb {
    name: String,
    options: PgConnectOptions,
}

impl TestDb {
    /// Makes one.
    pub async fn new() -> Self {
        let template = template::name().await;
        let name = format!("test_{}", Uuid::now_v7().simple());
        let mut admin = connect(&admin_options()).await;
        // Both names are made here, of letters and digits.
        execute(&mut admin, format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
        Self { options: admin_options().database(&name), name }
    }

    /// The URL of the database.
    pub fn url(&self) -> String {
        self.options.to_url_lossy().to_string()
    }

    /// Settings for a store on this database, for tests that change them.
    pub fn settings(&self) -> StoreSettings {
        settings(&self.options)
    }

    /// A store on this database.
    pub async fn store(&self) -> Store {
        Store::connect(&self.settings()).await.expect("the test's database is reachable")
    }

    /// A proxy before this database, and settings for a store that goes through it.
    pub async fn proxied(&self) -> (Proxy, StoreSettings) {
        let port = self.options.get_port();
        let upstream = if let Some(folder) = self.options.get_socket() {
            Upstream::Unix(folder.join(format!(".s.PGSQL.{port}")))
        } else {
            let name = (self.options.get_host().to_owned(), port);
            let mut found = tokio::net::lookup_host(name).await.expect("the server has a name");
            Upstream::Tcp(found.next().expect("the server's name has an address"))
        };
        let proxy = Proxy::start(upstream).await.expect("a proxy starts");
        let address = proxy.address();
        let through = PgConnectOptions::new_without_pgpass()
            .username(self.options.get_username())
            .database(&self.name)
            .host(&address.ip().to_string())
            .port(address.port());
        (proxy, settings(&through))
    }

    /// A connection beside the store's, to look at rows or to disturb them. The tables are found
    /// without the name of their schema.
    pub async fn connection(&self) -> PgConnection {
        connect(&self.options.clone().options([("search_path", SCHEMA)])).await
    }

    /// How many rows a table has.
    pub async fn count(&self, table: &str) -> i64 {
        let query = AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
        let mut connection = self.connection().await;
        sqlx::query_scalar(query).fetch_one(&mut connection).await.expect("the table is there")
    }

    /// The tables that have a row with this text somewhere in it, be it as text or as bytes. For
    /// what must not be in the database at all; letters and digits are found as they stand.
    pub async fn tables_with(&self, text: &str) -> Vec<String> {
        let mut connection = self.connection().await;
        let query =
            "SELECT tablename::text FROM pg_tables WHERE schemaname = $1 ORDER BY tablename";
        let tables: Vec<String> = sqlx::query_scalar(query)
            .bind(SCHEMA)
            .fetch_all(&mut connection)
            .await
            .expect("the catalogue can be read");
        let mut found = Vec::new();
        for table in tables {
            // A row as text has its bytes in hexadecimal digits. The names come from the catalogue.
            let query = AssertSqlSafe(format!(
                "SELECT EXISTS (SELECT FROM \"{table}\" AS a_row WHERE position($1 IN a_row::text) \
                 > 0 OR position(encode($2, 'hex') IN a_row::text) > 0)"
            ));
            let holds: bool = sqlx::query_scalar(query)
                .bind(text)
                .bind(text.as_bytes())
                .fetch_one(&mut connection)
                .await
                .expect("the table can be read");
            if holds {
                found.push(table);
            }
        }
        found
    }
}

impl Drop for TestDb {
    fn drop(&mut self) {
        let name = self.name.clone();
        // A drop cannot wait on the test's own runtime. A failure is not the test's: the server
        // goes with everything in it when the run ends.
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime
                .block_on(async { tokio::time::timeout(DROP_BOUND, drop_database(&name)).await? })
        });
        let _: Result<Result<(), Box<dyn Error + Send + Sync>>, _> = thread.join();
    }
}

/// How many rows a table of the platform has, in whichever database.
pub async fn count(url: &str, table: &str) -> i64 {
    let query = AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
    let options = PgConnectOptions::from_str(url).expect("the URL is valid");
    let mut connection = connect(&options.options([("search_path", SCHEMA)])).await;
    sqlx::query_scalar(query).fetch_one(&mut connection).await.expect("the table is there")
}

/// Writes to the log of changes of a server until it has to grow and cannot, which ends the server.
pub async fn use_up_the_log(url: &str) {
    let options = PgConnectOptions::from_str(url).expect("the URL is valid");
    let mut connection = connect(&options).await;
    for _ in 0..SEGMENTS {
        // The rest of a segment is skipped only when something was written to it.
        let statement = "SELECT pg_logical_emit_message(true, '', ''); SELECT pg_switch_wal()";
        if sqlx::raw_sql(statement).execute(&mut connection).await.is_err() {
            return;
        }
    }
    panic!("the log of changes still grows after {SEGMENTS} segments");
}

async fn drop_database(name: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut admin = PgConnection::connect_with(&admin_options()).await?;
    let statement = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut admin).await?;
    Ok(admin.close().await?)
}

/// Settings for a store on a database.
pub(crate) fn settings(options: &PgConnectOptions) -> StoreSettings {
    StoreSettings {
        schema: SCHEMA.to_owned(),
        ..StoreSettings::new(options.to_url_lossy().to_string())
    }
}

/// How to reach the database from which others are made.
pub(crate) fn admin_options() -> PgConnectOptions {
    PgConnectOptions::from_str(&server::admin_url()).expect("the URL of the test server is valid")
}

pub(crate) async fn connect(options: &PgConnectOptions) -> PgConnection {
    match PgConnection::connect_with(options).await {
        Ok(connection) => connection,
        Err(error) => panic!("cannot connect to the test server: {error}"),
    }
}

/// Carries out a statement that was made here.
pub(crate) async fn execute(connection: &mut PgConnection, statement: String) {
    if let Err(error) = sqlx::raw_sql(AssertSqlSafe(statement.clone())).execute(connection).await {
        panic!("`{statement}` failed: {error}");
    }
}
