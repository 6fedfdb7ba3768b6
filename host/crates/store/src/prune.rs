//! History that is old enough to go.
//!
//! Attempts and logs leave with their partition. So do ends, but their jobs, which hold the inputs,
//! are deleted first, in batches. Dead letters are kept by a retention of their own.

use crate::bounded;
use crate::convert::{length, millis, unsigned};
use crate::error::{StoreError, sqlstate};
use crate::store::Store;
use cofferdam_core::recovery::QUARANTINE_WINDOW;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use std::time::Duration;

const ENDED: &str = include_str!("../queries/prune/ended.sql");
const DEAD_LETTERS: &str = include_str!("../queries/prune/dead_letters.sql");
const STRAY_ATTEMPTS: &str = include_str!("../queries/prune/stray_attempts.sql");
const STRAY_LOGS: &str = include_str!("../queries/prune/stray_logs.sql");
const DEATHS: &str = include_str!("../queries/prune/deaths.sql");
const OLD_PARTITIONS: &str = include_str!("../queries/prune/old_partitions.sql");

/// How long a drop waits for the lock of the table. Whoever comes behind it waits as long; a table
/// that is busy is left to the next time.
const LOCK_WAIT: &str = "SET LOCAL lock_timeout = '100ms'";
/// SQLSTATE of a lock that did not become free in time.
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// How long history is kept, counted from the end of the day in which it was made, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Jobs that completed or were cancelled, with their inputs and outputs, and all attempts.
    pub history: Duration,
    /// What guests wrote.
    pub logs: Duration,
    /// Dead letters, counted from the very time at which the job ended.
    pub dead_letters: Duration,
}

/// What one step took away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// How many rows were deleted, not counting those of partitions and those that went along.
    pub rows: usize,
    /// How many partitions were dropped.
    pub partitions: usize,
    /// Whether there is more to be taken away now.
    pub more: bool,
}

impl Store {
    /// Takes one step: up to `limit` rows of each kind, and the partitions that are empty or too
    /// old. While more is left, the caller takes the next.
    ///
    /// A job that has not ended is never touched. Any number of callers at once do no harm.
    pub async fn prune(&self, retention: &Retention, limit: usize) -> Result<Pruned, StoreError> {
        let mut pruned = Pruned::default();
        for (sql, keep) in [(ENDED, retention.history), (DEAD_LETTERS, retention.dead_letters)] {
            let rows: i64 = sqlx::query_scalar(sql)
                .bind(millis(keep))
                .bind(length(limit))
                .fetch_one(self.pool())
                .await?;
            pruned.add(unsigned(rows), limit);
        }
        for (sql, keep) in [
            (STRAY_ATTEMPTS, retention.history),
            (STRAY_LOGS, retention.logs),
            (DEATHS, QUARANTINE_WINDOW),
        ] {
            let deleted = sqlx::query(sql)
                .bind(millis(keep))
                .bind(length(limit))
                .execute(self.pool())
                .await?;
            pruned.add(deleted.rows_affected(), limit);
        }
        for (table, keep) in [
            ("ended", retention.history),
            ("attempts", retention.history),
            ("job_logs", retention.logs),
        ] {
            pruned.partitions += self.drop_old(table, keep).await?;
        }
        Ok(pruned)
    }

    /// Drops the partitions of a table that hold nothing but what is too old.
    async fn drop_old(&self, table: &'static str, keep: Duration) -> Result<usize, StoreError> {
        let partitions: Vec<String> = sqlx::query_scalar(OLD_PARTITIONS)
            .bind(table)
            .bind(millis(keep))
            .fetch_all(self.pool())
            .await?;
        let mut dropped = 0;
        for partition in partitions {
            let dropping = self.drop_partition(table, &partition);
            match bounded::answered(self.patience(), dropping).await {
                Ok(true) => dropped += 1,
                Ok(false) => {}
                Err(error) if sqlstate(&error).as_deref() == Some(LOCK_NOT_AVAILABLE) => {
                    tracing::debug!(partition, "busy, and dropped another time");
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(dropped)
    }

    /// Drops a partition. `false`: it still holds ends, whose jobs have to go first.
    async fn drop_partition(
        &self,
        table: &'static str,
        partition: &str,
    ) -> Result<bool, sqlx::Error> {
        let keeps_jobs = table == "ended";
        let mut connection = self.pool().acquire().await?;
        // First without the lock: it takes many steps until the partition is empty.
        if keeps_jobs && holds_rows(&mut connection, partition).await? {
            return Ok(false);
        }
        let mut transaction = connection.begin().await?;
        sqlx::raw_sql(LOCK_WAIT).execute(&mut *transaction).await?;
        // The parent first, as every statement does that reads or writes through it.
        let lock = format!("LOCK TABLE ONLY {table} IN ACCESS EXCLUSIVE MODE");
        sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut *transaction).await?;
        if keeps_jobs && holds_rows(&mut transaction, partition).await? {
            return Ok(false);
        }
        let drop = format!("DROP TABLE IF EXISTS {partition}");
        sqlx::raw_sql(AssertSqlSafe(drop)).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(true)
    }
}

async fn holds_rows(connection: &mut PgConnection, partition: &str) -> Result<bool, sqlx::Error> {
    let look = AssertSqlSafe(format!("SELECT EXISTS (SELECT FROM {partition})"));
    sqlx::query_scalar(look).fetch_one(connection).await
}

impl Pruned {
    fn add(&mut self, rows: u64, limit: usize) {
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        self.rows = self.rows.saturating_add(rows);
        self.more |= rows > 0 && rows >= limit;
    }
}
