//! What the server is.

use crate::app::Shared;
use crate::types::Info;
use axum::Json;
use axum::extract::State;

/// The server
///
/// Versions of the server, of its contract with guests and of its database schema.
#[utoipa::path(
    get, path = "/api/v1/info", tag = "server",
    responses((status = 200, description = "What it is", body = Info)),
)]
pub(crate) async fn info(State(state): State<Shared>) -> Json<Info> {
    Json(state.info.clone())
}
