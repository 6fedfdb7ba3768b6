//! Bringing ended jobs back.

use super::cancel::MAX_TRIES;
use crate::convert::parse;
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::ids::{JobId, TenantId, VersionId};
use cofferdam_core::state::JobState;

const REVIVE: &str = include_str!("../../queries/jobs/revive.sql");
const VERSION_FITS: &str = include_str!("../../queries/jobs/version_fits.sql");

/// What came of a revival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revive {
    /// The job is claimable, with its budgets anew.
    Revived,
    /// The job is in a state that nothing brings back: it has not ended, or ended well.
    NotPossible(JobState),
    /// The version is not one of the job's module, or was deleted.
    NoSuchVersion,
    /// There is no such job of this tenant.
    NotFound,
}

#[derive(sqlx::FromRow)]
struct Row {
    revived: bool,
    seen: Option<String>,
}

impl Store {
    /// Makes a job claimable again that failed, died or was cancelled. Its history stays, and its
    /// `run_lease` goes on. `version` is what it runs from now on; `None` for what was asked for.
    pub async fn revive(
        &self,
        tenant: TenantId,
        job: JobId,
        version: Option<VersionId>,
    ) -> Result<Revive, StoreError> {
        if let Some(version) = version
            && !self.version_fits(tenant, job, version).await?
        {
            return Ok(Revive::NoSuchVersion);
        }
        for _ in 0..MAX_TRIES {
            let row: Row = sqlx::query_as(REVIVE)
                .bind(job.as_uuid())
                .bind(tenant.as_uuid())
                .bind(version.map(VersionId::as_uuid))
                .bind(self.channel())
                .fetch_one(self.pool())
                .await?;
            if row.revived {
                return Ok(Revive::Revived);
            }
            let Some(seen) = row.seen else { return Ok(Revive::NotFound) };
            let state: JobState = parse("job's state", &seen)?;
            // A job that was seen in the DLQ and is not there was revived by someone else.
            if !(state.is_dead_letter() || state == JobState::Cancelled) {
                return Ok(Revive::NotPossible(state));
            }
        }
        Err(StoreError::Contended(job))
    }

    /// Whether a job could run a version. `true` for jobs that do not exist.
    async fn version_fits(
        &self,
        tenant: TenantId,
        job: JobId,
        version: VersionId,
    ) -> Result<bool, StoreError> {
        let fits: Option<bool> = sqlx::query_scalar(VERSION_FITS)
            .bind(job.as_uuid())
            .bind(tenant.as_uuid())
            .bind(version.as_uuid())
            .fetch_optional(self.pool())
            .await?;
        Ok(fits.unwrap_or(true))
    }
}
