//! Looking at jobs, cancelling and retrying them.

use crate::app::Shared;
use crate::body;
use crate::error::{Answer, Problem};
use crate::extract::{JobPath, Query, Tenant};
use crate::page;
use crate::types::{
    CancelAnswer, JobQuery, JobSummary, JobView, Page, RetryAnswer, RetryBody, RetryVersion,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use cofferdam_core::ids::{JobId, TenantId, VersionId};
use cofferdam_core::module::ModuleRef;
use cofferdam_core::name::ModuleName;
use cofferdam_core::state::JobState;
use cofferdam_store::{Cancel, JobFilter, Revive};

/// Jobs
///
/// Newest first.
#[utoipa::path(
    get, path = "/api/v1/jobs",
    operation_id = "list_jobs", tag = "jobs",
    params(JobQuery),
    responses((status = 200, description = "A page of them", body = Page<JobSummary>)),
)]
pub(crate) async fn list(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    Query(query): Query<JobQuery>,
) -> Answer<Json<Page<JobSummary>>> {
    let limit = page::limit(query.limit)?;
    let before = page::cursor(query.before.as_deref(), "before")?;
    let filter = JobFilter {
        state: query.state,
        kind: query.kind,
        queue: query.queue,
        module: query.module,
    };
    let wanted = page::one_more(before, limit);
    let rows = state.store.list_jobs(tenant, &filter, wanted).await?;
    Ok(Json(page::page(rows, limit, |row| row.id.to_string())))
}

/// A job
///
/// Everything about it but its input, output and log.
#[utoipa::path(
    get, path = "/api/v1/jobs/{id}",
    operation_id = "show_job", tag = "jobs",
    params(("id" = String, Path, format = Uuid, description = "The job")),
    responses((status = 200, description = "The job", body = JobView)),
)]
pub(crate) async fn show(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    JobPath(id): JobPath,
) -> Answer<Json<JobView>> {
    find(&state, tenant, id).await.map(Json)
}

/// The job as clients see it.
pub(super) async fn find(state: &Shared, tenant: TenantId, id: JobId) -> Answer<JobView> {
    let job = state.store.job(tenant, id).await?.ok_or_else(|| no_such_job(id))?;
    Ok(JobView::from(job))
}

pub(super) fn no_such_job(id: JobId) -> Problem {
    Problem::not_found("no-such-job", format!("there is no job {id}"))
        .hint("jobs are forgotten when their retention has passed")
}

/// Cancel a job
///
/// A job that waits is cancelled at once (200). A running one is killed by its worker (202); it
/// counts as cancelled however the attempt ends.
#[utoipa::path(
    post, path = "/api/v1/jobs/{id}/cancel",
    operation_id = "cancel_job", tag = "jobs",
    params(("id" = String, Path, format = Uuid, description = "The job")),
    responses(
        (status = 200, description = "It is cancelled", body = CancelAnswer),
        (status = 202, description = "It is about to be", body = CancelAnswer),
    ),
)]
pub(crate) async fn cancel(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    JobPath(id): JobPath,
) -> Answer<(StatusCode, Json<CancelAnswer>)> {
    let (status, now) = match state.store.cancel(tenant, id).await? {
        Cancel::Cancelled => (StatusCode::OK, JobState::Cancelled),
        Cancel::Requested => (StatusCode::ACCEPTED, JobState::Running),
        Cancel::AlreadyEnded(now) => {
            return Err(Problem::conflict("already-ended", format!("job {id} is {now} already")));
        }
        Cancel::NotFound => return Err(no_such_job(id)),
    };
    Ok((status, Json(CancelAnswer { id, state: now })))
}

/// Retry a job
///
/// Makes a job claimable again that failed, died or was cancelled, with its budgets anew. Its
/// history stays.
#[utoipa::path(
    post, path = "/api/v1/jobs/{id}/retry",
    operation_id = "retry_job", tag = "jobs",
    params(("id" = String, Path, format = Uuid, description = "The job")),
    request_body(content = Option<RetryBody>, description = "May be left out"),
    responses((status = 202, description = "It will run", body = RetryAnswer)),
)]
pub(crate) async fn retry(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    JobPath(id): JobPath,
    body::Json(body, _): body::Json<RetryBody>,
) -> Answer<(StatusCode, Json<RetryAnswer>)> {
    let version = match body.version {
        RetryVersion::Same => None,
        other => {
            let job = state.store.job(tenant, id).await?.ok_or_else(|| no_such_job(id))?;
            let version = version_of(&state, tenant, &job.module, &other).await?;
            Some(version.ok_or_else(|| no_such_version(&job.module))?)
        }
    };
    match state.store.revive(tenant, id, version).await? {
        Revive::Revived => {
            let now = state.store.job_state(tenant, id).await?.unwrap_or(JobState::Available);
            Ok((StatusCode::ACCEPTED, Json(RetryAnswer { id, state: now })))
        }
        Revive::NotPossible(now) => {
            Err(Problem::conflict("not-retryable", format!("job {id} is {now}"))
                .hint("only jobs that failed, died or were cancelled can be retried"))
        }
        Revive::NoSuchVersion => {
            Err(Problem::not_found("no-such-version", "the version was deleted"))
        }
        Revive::NotFound => Err(no_such_job(id)),
    }
}

/// The version of a module that a retry is to run; `None` when there is no such one.
pub(super) async fn version_of(
    state: &Shared,
    tenant: TenantId,
    module: &ModuleName,
    version: &RetryVersion,
) -> Answer<Option<VersionId>> {
    let version = match version {
        RetryVersion::Same => return Ok(None),
        RetryVersion::Current => None,
        RetryVersion::Named(version) => Some(version.clone()),
    };
    let reference = ModuleRef { name: module.clone(), version, kind: None };
    Ok(state.store.resolve(tenant, &reference).await?.map(|resolved| resolved.version))
}

fn no_such_version(module: &ModuleName) -> Problem {
    Problem::not_found("no-such-version", format!("`{module}` has no such version"))
        .hint(format!("`cofferdam module show {module}` lists its versions"))
        .field("version")
}
