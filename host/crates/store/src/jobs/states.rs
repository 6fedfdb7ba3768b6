//! Where jobs are, and their bytes.

use crate::bounded::Bounded;
use crate::convert::parse;
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::ids::{JobId, TenantId};
use cofferdam_core::state::JobState;
use uuid::Uuid;

const STATES: &str =
    "SELECT job_id, state FROM job_state WHERE tenant_id = $1 AND job_id = ANY ($2)";
const PAYLOAD: &str = "SELECT payload FROM jobs WHERE tenant_id = $1 AND id = $2";
const OUTPUT: &str =
    "SELECT output FROM ended WHERE tenant_id = $1 AND job_id = $2 AND state = 'completed'";

impl Store {
    /// Where some jobs are, in no order. Jobs that do not exist are left out.
    pub async fn job_states(
        &self,
        tenant: TenantId,
        jobs: &[JobId],
    ) -> Result<Vec<(JobId, JobState)>, StoreError> {
        let rows: Vec<(Uuid, String)> = sqlx::query_as(STATES)
            .bind(tenant.as_uuid())
            .bind(jobs.iter().map(|job| job.as_uuid()).collect::<Vec<_>>())
            .fetch_all(self.pool())
            .await?;
        rows.into_iter()
            .map(|(id, state)| Ok((JobId::from_uuid(id), parse("job's state", &state)?)))
            .collect()
    }

    /// Where a job is; `None` when there is no such job.
    pub async fn job_state(
        &self,
        tenant: TenantId,
        job: JobId,
    ) -> Result<Option<JobState>, StoreError> {
        Ok(self.job_states(tenant, &[job]).await?.first().map(|(_, state)| *state))
    }

    /// A job's input; `None` when there is no such job.
    pub async fn job_payload(
        &self,
        tenant: TenantId,
        job: JobId,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        bytes(self.pool(), PAYLOAD, tenant, job).await
    }

    /// A job's output; `None` when it is not completed.
    pub async fn job_output(
        &self,
        tenant: TenantId,
        job: JobId,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        bytes(self.pool(), OUTPUT, tenant, job).await
    }
}

async fn bytes(
    pool: Bounded<'_>,
    sql: &'static str,
    tenant: TenantId,
    job: JobId,
) -> Result<Option<Vec<u8>>, StoreError> {
    let query = sqlx::query_scalar(sql).bind(tenant.as_uuid()).bind(job.as_uuid());
    Ok(query.fetch_optional(pool).await?)
}
