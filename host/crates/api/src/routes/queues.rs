//! Queues.

use crate::app::Shared;
use crate::error::{Answer, Problem};
use crate::extract::{QueuePath, Tenant};
use crate::types::{Page, QueueView};
use axum::Json;
use axum::extract::State;
use cofferdam_core::ids::TenantId;
use cofferdam_core::name::QueueName;

/// Queues
///
/// Every one that a job was ever in. What is claimable is counted up to a bound.
#[utoipa::path(
    get, path = "/api/v1/queues",
    operation_id = "list_queues", tag = "queues",
    responses((status = 200, description = "All of them", body = Page<QueueView>)),
)]
pub(crate) async fn list(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
) -> Answer<Json<Page<QueueView>>> {
    let queues = state.store.queues(tenant).await?;
    Ok(Json(Page::whole(queues.into_iter().map(QueueView::from).collect())))
}

/// Pause a queue
///
/// No job of it is claimed until it is resumed; those that run go on. The queue need not have had
/// a job yet.
#[utoipa::path(
    post, path = "/api/v1/queues/{name}/pause",
    operation_id = "pause_queue", tag = "queues",
    params(("name" = String, Path, description = "The queue")),
    responses((status = 200, description = "It is paused", body = QueueView)),
)]
pub(crate) async fn pause(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    QueuePath(name): QueuePath,
) -> Answer<Json<QueueView>> {
    state.store.pause_queue(tenant, &name).await?;
    find(&state, tenant, &name).await
}

/// Resume a queue
#[utoipa::path(
    post, path = "/api/v1/queues/{name}/resume",
    operation_id = "resume_queue", tag = "queues",
    params(("name" = String, Path, description = "The queue")),
    responses((status = 200, description = "Its jobs are claimed again", body = QueueView)),
)]
pub(crate) async fn resume(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    QueuePath(name): QueuePath,
) -> Answer<Json<QueueView>> {
    state.store.resume_queue(tenant, &name).await?;
    find(&state, tenant, &name).await
}

async fn find(state: &Shared, tenant: TenantId, name: &QueueName) -> Answer<Json<QueueView>> {
    let queues = state.store.queues(tenant).await?;
    let queue = queues.into_iter().find(|queue| queue.name == *name).ok_or_else(|| {
        Problem::not_found("no-such-queue", format!("there is no queue `{name}`"))
            .hint("a queue comes into being with its first job, or when it is paused")
    })?;
    Ok(Json(QueueView::from(queue)))
}
