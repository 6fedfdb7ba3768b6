//! The handle that everything else hangs on.

use crate::bounded::{self, Bounded};
use crate::error::StoreError;
use crate::jobs::EnqueueSql;
use crate::settings::{SchemaName, StoreSettings};
use cofferdam_core::Time;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{Connection as _, Postgres, Transaction};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A pool of connections to one installation's schema. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    pool: PgPool,
    options: PgConnectOptions,
    settings: StoreSettings,
    schema: SchemaName,
    enqueue: EnqueueSql,
}

impl Store {
    /// Connects once, so that a wrong URL or password is reported now and with its cause, and
    /// opens further connections as they are needed. Neither makes nor checks the schema.
    pub async fn connect(settings: &StoreSettings) -> Result<Self, StoreError> {
        let schema = SchemaName::new(settings.schema.as_str())?;
        let options = settings.connect_options()?;
        connect_one(&options, settings).await?.close().await?;
        let pool = PgPoolOptions::new()
            .max_connections(settings.max_connections)
            .acquire_timeout(settings.acquire_timeout)
            .test_before_acquire(false)
            .before_acquire(bounded::on_acquire)
            .after_release(bounded::on_release)
            .connect_lazy_with(options.clone());
        let enqueue = EnqueueSql::new(&schema);
        let settings = settings.clone();
        Ok(Self { inner: Arc::new(Inner { pool, options, settings, schema, enqueue }) })
    }

    /// Asks the database for a sign of life.
    pub async fn ping(&self) -> Result<(), StoreError> {
        sqlx::query("SELECT 1").execute(self.pool()).await?;
        Ok(())
    }

    /// The time, by the database's clock: the only one that decides about jobs.
    pub async fn now(&self) -> Result<Time, StoreError> {
        Ok(sqlx::query_scalar("SELECT now()").fetch_one(self.pool()).await?)
    }

    /// Waits until every connection is back, and closes them. Later calls fail.
    pub async fn close(&self) {
        self.inner.pool.close().await;
    }

    /// The schema of this installation.
    pub fn schema(&self) -> &SchemaName {
        &self.inner.schema
    }

    /// The pool, for single statements.
    pub(crate) fn pool(&self) -> Bounded<'_> {
        Bounded { pool: &self.inner.pool, within: self.patience() }
    }

    /// How long the answer to a statement, or to a transaction of a few, is waited for.
    pub(crate) fn patience(&self) -> Duration {
        bounded::patience(self.inner.settings.statement_timeout)
    }

    /// Waits for a short transaction no longer than for a single statement. What is given up is
    /// rolled back, at the latest when Postgres notices that nobody is there.
    pub(crate) async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        bounded::in_time(self.patience(), work).await
    }

    /// The channel of this installation's notifications.
    pub(crate) fn channel(&self) -> &str {
        self.inner.schema.as_str()
    }

    pub(crate) fn enqueue_sql(&self) -> &EnqueueSql {
        &self.inner.enqueue
    }

    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Postgres>, StoreError> {
        let pool = &self.inner.pool;
        let within = self.inner.settings.acquire_timeout.saturating_add(self.patience());
        bounded::in_time(within, async { Ok(pool.begin().await?) }).await
    }

    /// Commits. When no answer comes, it may have happened or not.
    pub(crate) async fn commit(
        &self,
        transaction: Transaction<'static, Postgres>,
    ) -> Result<(), StoreError> {
        self.in_time(async { Ok(transaction.commit().await?) }).await
    }

    /// A connection of the caller's own, outside of the pool.
    pub(crate) async fn connect_apart(&self) -> Result<PgConnection, StoreError> {
        connect_one(&self.inner.options, &self.inner.settings).await
    }

    /// A connection that is a worker's presence, and says so in `pg_stat_activity`: whoever cleans
    /// up idle sessions should know it.
    pub(crate) async fn connect_present(&self) -> Result<PgConnection, StoreError> {
        let name = format!("{} presence", self.inner.settings.application_name);
        let options = self.inner.options.clone().application_name(&name);
        connect_one(&options, &self.inner.settings).await
    }

    /// A pool of one connection, for what must not share connections with statements.
    pub(crate) async fn own_connection(&self) -> Result<PgPool, StoreError> {
        let options = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(self.inner.settings.acquire_timeout)
            .max_lifetime(None)
            .idle_timeout(None);
        connect_one(&self.inner.options, &self.inner.settings).await?.close().await?;
        Ok(options.connect_lazy_with(self.inner.options.clone()))
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("settings", &self.inner.settings).finish_non_exhaustive()
    }
}

/// Opens one connection. The pool would try until its timeout is over, and then not say why.
async fn connect_one(
    options: &PgConnectOptions,
    settings: &StoreSettings,
) -> Result<PgConnection, StoreError> {
    let connecting = PgConnection::connect_with(options);
    let connected = match tokio::time::timeout(settings.acquire_timeout, connecting).await {
        Ok(connected) => connected,
        Err(_) => Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
    };
    connected.map_err(|source| StoreError::Connect { target: target(options), source })
}

/// Where the options lead, without credentials.
fn target(options: &PgConnectOptions) -> String {
    let host = match options.get_socket() {
        Some(folder) => folder.display().to_string(),
        None => options.get_host().to_owned(),
    };
    let database = options.get_database().unwrap_or_else(|| options.get_username());
    format!("{host}:{}/{database}", options.get_port())
}
