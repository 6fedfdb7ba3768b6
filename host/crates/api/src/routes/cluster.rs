//! The installation as a whole.

use crate::app::Shared;
use crate::error::Answer;
use crate::types::ClusterView;
use axum::Json;
use axum::extract::State;

/// The cluster
///
/// Who leads, how many jobs are counted running and how many of these no live worker accounts for,
/// and what each sweep did.
#[utoipa::path(
    get, path = "/api/v1/cluster",
    operation_id = "show_cluster", tag = "workers",
    responses((status = 200, description = "The whole", body = ClusterView)),
)]
pub(crate) async fn show(State(state): State<Shared>) -> Answer<Json<ClusterView>> {
    Ok(Json(ClusterView::from(state.store.cluster().await?)))
}
