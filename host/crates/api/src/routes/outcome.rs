//! What goes into a job and what comes out of it, and waiting for that.

use super::jobs::{find, no_such_job};
use crate::app::Shared;
use crate::error::{Answer, Problem};
use crate::extract::{JobPath, Query, Tenant};
use crate::types::{JobView, WaitQuery};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use cofferdam_core::ids::{JobId, TenantId};
use cofferdam_core::state::JobState;
use cofferdam_core::units::format_duration;
use serde::de::IgnoredAny;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a wait lasts when the client does not say.
const DEFAULT_WAIT: Duration = Duration::from_secs(30);
/// The longest wait: proxies between us and the client give up at about this time.
const MAX_WAIT: Duration = Duration::from_mins(1);
/// The first pause between two looks at a job. Most jobs that are waited for are short.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
/// The longest pause. A look is one read by primary key: four of them in a second are cheap.
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// A job's input
///
/// The bytes as the handler gets them: `application/json` where they are JSON, and
/// `application/octet-stream` otherwise.
#[utoipa::path(
    get, path = "/api/v1/jobs/{id}/input",
    operation_id = "show_input", tag = "jobs",
    params(("id" = String, Path, format = Uuid, description = "The job")),
    responses((status = 200, description = "The input", body = Vec<u8>, content_type = "application/octet-stream")),
)]
pub(crate) async fn input(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    JobPath(id): JobPath,
) -> Answer<Response> {
    let bytes = state.store.job_payload(tenant, id).await?.ok_or_else(|| no_such_job(id))?;
    Ok(raw(bytes))
}

/// A job's output
///
/// The bytes as the handler gave them: `application/json` where they are JSON, and
/// `application/octet-stream` otherwise.
#[utoipa::path(
    get, path = "/api/v1/jobs/{id}/output",
    operation_id = "show_output", tag = "jobs",
    params(("id" = String, Path, format = Uuid, description = "The job")),
    responses((status = 200, description = "The output", body = Vec<u8>, content_type = "application/octet-stream")),
)]
pub(crate) async fn output(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    JobPath(id): JobPath,
) -> Answer<Response> {
    if let Some(bytes) = state.store.job_output(tenant, id).await? {
        return Ok(raw(bytes));
    }
    let job = find(&state, tenant, id).await?;
    let detail = format!("job {id} is {} and has no output", job.summary.state);
    Err(Problem::not_found("no-output", detail).hint("only completed jobs have one"))
}

/// Bytes with the type that they are found to have. Guests write them: nothing that a browser
/// would run is ever claimed.
fn raw(bytes: Vec<u8>) -> Response {
    let json = !bytes.is_empty() && serde_json::from_slice::<IgnoredAny>(&bytes).is_ok();
    let media_type = if json { "application/json" } else { "application/octet-stream" };
    ([(header::CONTENT_TYPE, HeaderValue::from_static(media_type))], bytes).into_response()
}

/// Wait for a job
///
/// Answers as soon as the job has ended, or with 202 when the time is up before that.
#[utoipa::path(
    get, path = "/api/v1/jobs/{id}/wait",
    operation_id = "wait_for_job", tag = "jobs",
    params(("id" = String, Path, format = Uuid, description = "The job"), WaitQuery),
    responses(
        (status = 200, description = "It has ended", body = JobView),
        (status = 202, description = "It has not ended yet", body = JobView),
    ),
)]
pub(crate) async fn wait(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    JobPath(id): JobPath,
    Query(query): Query<WaitQuery>,
) -> Answer<(StatusCode, Json<JobView>)> {
    let timeout = query.timeout.unwrap_or(DEFAULT_WAIT);
    if timeout > MAX_WAIT {
        let max = format_duration(MAX_WAIT);
        return Err(Problem::malformed("bad-query", format!("a wait lasts {max} at most"))
            .hint("wait again when the answer is 202")
            .field("timeout"));
    }
    let mut job = find(&state, tenant, id).await?;
    if !job.summary.state.is_terminal() && timeout > Duration::ZERO {
        ended_within(&state, tenant, id, timeout).await?;
        job = find(&state, tenant, id).await?;
    }
    let ended = job.summary.state.is_terminal();
    let status = if ended { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(job)))
}

/// Looks at a job with growing pauses until it has ended, the time is up, or the server is to
/// stop: a wait must not hold that up.
async fn ended_within(
    state: &Shared,
    tenant: TenantId,
    id: JobId,
    timeout: Duration,
) -> Answer<()> {
    let until = Instant::now() + timeout;
    let mut pause = FIRST_PAUSE;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let pausing = state.shutdown.run_until_cancelled(sleep(pause.min(left)));
        if left.is_zero() || pausing.await.is_none() {
            return Ok(());
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
        // A job that is gone has ended and was forgotten since.
        if state.store.job_state(tenant, id).await?.is_none_or(JobState::is_terminal) {
            return Ok(());
        }
    }
}
