//! Cancelling a job.

use crate::convert::parse;
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::ids::{JobId, TenantId};
use cofferdam_core::state::JobState;

const CANCEL: &str = include_str!("../../queries/jobs/cancel.sql");

/// How often a job that moves is looked for again. Each time it has been claimed, finished or
/// promoted in between; a job that does this many times in the time of as many statements is not
/// one that waits.
pub(super) const MAX_TRIES: usize = 50;

/// What came of a cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// The job is cancelled.
    Cancelled,
    /// The job runs. It ends as cancelled, whatever its attempt comes to.
    Requested,
    /// The job had ended before, and stays as it is.
    AlreadyEnded(JobState),
    /// There is no such job of this tenant.
    NotFound,
}

#[derive(sqlx::FromRow)]
struct Row {
    cancelled: bool,
    requested: bool,
    seen: Option<String>,
}

impl Store {
    /// Cancels a job: at once where it waits, and as a durable intent where it runs, of which the
    /// workers are told.
    pub async fn cancel(&self, tenant: TenantId, job: JobId) -> Result<Cancel, StoreError> {
        for _ in 0..MAX_TRIES {
            let row: Row = sqlx::query_as(CANCEL)
                .bind(job.as_uuid())
                .bind(tenant.as_uuid())
                .bind(self.channel())
                .fetch_one(self.pool())
                .await?;
            if row.cancelled {
                return Ok(Cancel::Cancelled);
            }
            if row.requested {
                return Ok(Cancel::Requested);
            }
            let Some(seen) = row.seen else { return Ok(Cancel::NotFound) };
            let state: JobState = parse("job's state", &seen)?;
            if state.is_terminal() {
                return Ok(Cancel::AlreadyEnded(state));
            }
        }
        Err(StoreError::Contended(job))
    }
}
