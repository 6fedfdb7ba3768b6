//! Statements that end, whatever becomes of the network.
//!
//! A statement that takes too long is ended by Postgres. That is of no use when neither the
//! statement nor its answer arrives: a network that swallows packets, or a server that lost its
//! power, sends no error, and a socket waits for a quarter of an hour or for ever. So whoever waits
//! gives up a little after Postgres would have answered, and the connection is closed.

use crate::error::StoreError;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt as _, TryFutureExt as _, TryStreamExt as _};
use sqlx::Describe;
use sqlx::pool::{PoolConnection, PoolConnectionMetadata};
use sqlx::postgres::{PgConnection, PgPool, PgQueryResult, PgRow, PgStatement, PgTypeInfo};
use sqlx::{Either, Error, Execute, Executor, Postgres, Row as _, SqlStr, raw_sql};
use std::io::ErrorKind;
use std::time::Duration;

/// Whether no transaction is open. A statement by itself, in one message, begins its transaction at
/// its own time; in a transaction that was begun before, `now()` is the time of its BEGIN.
const BETWEEN_TRANSACTIONS: &str = "SELECT now() = statement_timestamp()";

/// How much longer than Postgres lets a statement run its answer may take.
const ON_THE_WAY: Duration = Duration::from_secs(5);

/// How long a connection has to show that it lives, when it goes back to the pool and when it comes
/// out.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// How long the answer to a statement is waited for.
pub(crate) fn patience(statement_timeout: Duration) -> Duration {
    statement_timeout.saturating_add(ON_THE_WAY)
}

/// Waits for some statements as long as for a single one.
pub(crate) async fn in_time<T>(
    within: Duration,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    // Boxed, so that whoever calls through many layers does not carry a whole transaction.
    let work = Box::pin(work);
    tokio::time::timeout(within, work).await.unwrap_or(Err(StoreError::Timeout(within)))
}

/// The same for work that fails with errors of the driver.
pub(crate) async fn answered<T>(
    within: Duration,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let silent = |_| Err(Error::Io(ErrorKind::TimedOut.into()));
    tokio::time::timeout(within, work).await.unwrap_or_else(silent)
}

/// The pool as an executor: each statement gets a connection, within the pool's own time for that,
/// and then has `within` to be answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounded<'a> {
    pub(crate) pool: &'a PgPool,
    pub(crate) within: Duration,
}

impl Bounded<'_> {
    /// A connection for more than one statement, none of which is bounded.
    pub(crate) async fn acquire(self) -> Result<PoolConnection<Postgres>, Error> {
        self.pool.acquire().await
    }

    async fn run<T>(
        self,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut connection = self.pool.acquire().await?;
        answered(self.within, work(&mut connection)).await
    }
}

impl<'p> Executor<'p> for Bounded<'p> {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxStream<'e, Result<Either<PgQueryResult, PgRow>, Error>>
    where
        'p: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let all = self.run(async move |connection: &mut PgConnection| {
            connection.fetch_many(query).try_collect::<Vec<_>>().await
        });
        all.map_ok(|all| stream::iter(all.into_iter().map(Ok))).try_flatten_stream().boxed()
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<PgRow>, Error>>
    where
        'p: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        Box::pin(
            self.run(async move |connection: &mut PgConnection| {
                connection.fetch_optional(query).await
            }),
        )
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [PgTypeInfo],
    ) -> BoxFuture<'e, Result<PgStatement, Error>>
    where
        'p: 'e,
    {
        Box::pin(self.run(async move |connection: &mut PgConnection| {
            connection.prepare_with(sql, parameters).await
        }))
    }

    // Asked for by the driver's macros, which check statements at compile time.
    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, Result<Describe<Postgres>, Error>>
    where
        'p: 'e,
    {
        Box::pin(
            self.run(async move |connection: &mut PgConnection| connection.describe(sql).await),
        )
    }
}

/// Before a connection goes back to the pool: what was given up half way is not worth keeping, and
/// must not keep its place in the pool while it waits for an answer. Nor may a connection go back
/// that is still in a transaction. The driver rolls back what it knows of, but it does not know of
/// a transaction whose BEGIN was given up between the question and the answer: every statement that
/// came after it would seem to work, and be undone.
pub(crate) fn on_release(
    connection: &mut PgConnection,
    _about: PoolConnectionMetadata,
) -> BoxFuture<'_, Result<bool, Error>> {
    Box::pin(async move {
        let row = answered(SIGN_OF_LIFE, connection.fetch_one(raw_sql(BETWEEN_TRANSACTIONS)));
        row.await?.try_get(0)
    })
}

/// Before a connection comes out of the pool: one that died while it rested is replaced, and whoever
/// asked does not notice that Postgres was away.
pub(crate) fn on_acquire(
    connection: &mut PgConnection,
    _about: PoolConnectionMetadata,
) -> BoxFuture<'_, Result<bool, Error>> {
    Box::pin(async move { lives(connection).await.map(|()| true) })
}

/// Whether the other end answers at all.
pub(crate) async fn lives<'c>(over: impl Executor<'c, Database = Postgres>) -> Result<(), Error> {
    // Without a name, without arguments, one round trip.
    answered(SIGN_OF_LIFE, over.execute("")).await.map(drop)
}
