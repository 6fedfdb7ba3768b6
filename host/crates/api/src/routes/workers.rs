//! Workers.

use crate::app::Shared;
use crate::error::Answer;
use crate::types::{Page, WorkerView};
use axum::Json;
use axum::extract::State;

/// Workers
///
/// Every one that is registered.
#[utoipa::path(
    get, path = "/api/v1/workers",
    operation_id = "list_workers", tag = "workers",
    responses((status = 200, description = "All of them", body = Page<WorkerView>)),
)]
pub(crate) async fn list(State(state): State<Shared>) -> Answer<Json<Page<WorkerView>>> {
    let workers = state.store.workers().await?;
    Ok(Json(Page::whole(workers.into_iter().map(WorkerView::from).collect())))
}
