//! What guests wrote.

use super::jobs::no_such_job;
use crate::app::Shared;
use crate::error::Answer;
use crate::extract::{JobPath, Query, Tenant};
use crate::page;
use crate::types::{LogPage, LogQuery, LogView};
use axum::Json;
use axum::extract::State;
use cofferdam_store::LogPosition;

/// A job's log
///
/// Oldest lines first, of all attempts. A client that follows it passes the `next` of each answer
/// as `after` until `done` is true.
#[utoipa::path(
    get, path = "/api/v1/jobs/{id}/logs",
    operation_id = "list_log_lines", tag = "jobs",
    params(("id" = String, Path, format = Uuid, description = "The job"), LogQuery),
    responses((status = 200, description = "Some lines", body = LogPage)),
)]
pub(crate) async fn list(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    JobPath(id): JobPath,
    Query(query): Query<LogQuery>,
) -> Answer<Json<LogPage>> {
    let limit = page::limit(query.limit)? as usize;
    let after: Option<LogPosition> = page::cursor(query.after.as_deref(), "after")?;
    // The state is read before the lines: all lines are written before the job ends, so once it
    // has ended, what is read next is all there will ever be.
    let now = state.store.job_state(tenant, id).await?.ok_or_else(|| no_such_job(id))?;
    let lines = state.store.logs(tenant, id, after, limit).await?;
    let done = now.is_terminal() && lines.len() < limit;
    let next = lines.last().map(|line| line.position).or(after).unwrap_or_default().to_string();
    Ok(Json(LogPage { items: lines.into_iter().map(LogView::from).collect(), next, done }))
}
