//! What guests wrote.

use crate::convert::{count, integer, length, to_json};
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::history::bounded_text;
use cofferdam_core::ids::{JobId, LeaseKey, RunLease, TenantId};
use cofferdam_core::log::LogLine;
use serde::{Deserialize, Serialize};
use sqlx::types::Json;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

const APPEND: &str = include_str!("../queries/logs/append.sql");
const READ: &str = include_str!("../queries/logs/read.sql");

/// The longest message of a line that is kept, in bytes: so that the last of a log is always more
/// than a part of one line.
const MAX_MESSAGE: usize = 32 * 1024;

/// Lines of one attempt, in order.
#[derive(Clone, Debug)]
pub struct LogChunk {
    /// The attempt's lease, which may be gone.
    pub key: LeaseKey,
    /// The attempt's number, from 1.
    pub attempt: u32,
    /// The chunk's number within the lease, from 0. A chunk that comes twice is kept once.
    pub seq: u32,
    /// The lines; at least one.
    pub lines: Vec<LogLine>,
}

/// A line that is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedLine {
    /// Where it is in the job's log.
    #[serde(flatten)]
    pub position: LogPosition,
    /// The attempt's number, from 1.
    pub attempt: u32,
    /// The line.
    pub line: LogLine,
}

/// A place in a job's log. As text it is `RUN_LEASE.CHUNK.INDEX`, for clients to hand back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LogPosition {
    /// The claim.
    pub run_lease: RunLease,
    /// The chunk within the claim, from 0.
    pub seq: u32,
    /// The line within the chunk, from 1.
    pub index: u32,
}

impl fmt::Display for LogPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.run_lease, self.seq, self.index)
    }
}

/// A text that is no place in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a place in a log")]
pub struct LogPositionError;

impl FromStr for LogPosition {
    type Err = LogPositionError;
    fn from_str(text: &str) -> Result<Self, LogPositionError> {
        fn number<T: FromStr>(part: Option<&str>) -> Result<T, LogPositionError> {
            part.and_then(|part| part.parse().ok()).ok_or(LogPositionError)
        }
        let mut parts = text.split('.');
        let position = Self {
            run_lease: number(parts.next())?,
            seq: number(parts.next())?,
            index: number(parts.next())?,
        };
        if parts.next().is_some() { Err(LogPositionError) } else { Ok(position) }
    }
}

#[derive(sqlx::FromRow)]
struct Row {
    run_lease: i64,
    seq: i32,
    index: i64,
    attempt: i32,
    line: Json<LogLine>,
}

impl From<Row> for LoggedLine {
    fn from(row: Row) -> Self {
        Self {
            position: LogPosition {
                run_lease: row.run_lease,
                seq: count(row.seq),
                index: u32::try_from(row.index).unwrap_or(u32::MAX),
            },
            attempt: count(row.attempt),
            line: row.line.0,
        }
    }
}

impl Store {
    /// Keeps chunks of lines. Those of jobs that do not exist are left out.
    pub async fn append_logs(&self, chunks: &[LogChunk]) -> Result<(), StoreError> {
        let bounded = |line: &LogLine| LogLine {
            message: bounded_text(&line.message, MAX_MESSAGE),
            ..line.clone()
        };
        let lines = chunks
            .iter()
            .map(|chunk| to_json("log line", &chunk.lines.iter().map(bounded).collect::<Vec<_>>()))
            .collect::<Result<Vec<_>, _>>()?;
        sqlx::query(APPEND)
            .bind(chunks.iter().map(|chunk| chunk.key.job.as_uuid()).collect::<Vec<_>>())
            .bind(chunks.iter().map(|chunk| chunk.key.run_lease).collect::<Vec<_>>())
            .bind(chunks.iter().map(|chunk| integer(chunk.attempt)).collect::<Vec<_>>())
            .bind(chunks.iter().map(|chunk| integer(chunk.seq)).collect::<Vec<_>>())
            .bind(lines)
            .execute(self.pool())
            .await?;
        Ok(())
    }

    /// Up to `limit` lines of a job's log, oldest first, from behind `after` on.
    pub async fn logs(
        &self,
        tenant: TenantId,
        job: JobId,
        after: Option<LogPosition>,
        limit: usize,
    ) -> Result<Vec<LoggedLine>, StoreError> {
        let after = after.unwrap_or_default();
        let rows: Vec<Row> = sqlx::query_as(READ)
            .bind(job.as_uuid())
            .bind(tenant.as_uuid())
            .bind(after.run_lease)
            .bind(integer(after.seq))
            .bind(i64::from(after.index))
            .bind(length(limit))
            .fetch_all(self.pool())
            .await?;
        Ok(rows.into_iter().map(LoggedLine::from).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_as_they_are_written() {
        let position = LogPosition { run_lease: 3, seq: 0, index: 17 };
        assert_eq!(position.to_string().parse(), Ok(position));
        for bad in ["", "1", "1.2", "1.2.3.4", "a.b.c", "1.-2.3"] {
            assert_eq!(bad.parse::<LogPosition>(), Err(LogPositionError), "{bad}");
        }
    }
}
