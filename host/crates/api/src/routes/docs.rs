//! The OpenAPI document.

use crate::openapi::openapi;
use axum::Json;
use utoipa::openapi::OpenApi;

/// The OpenAPI document
///
/// This document.
#[utoipa::path(
    get, path = "/api/v1/openapi.json",
    operation_id = "openapi", tag = "server",
    responses((status = 200, description = "The document", body = serde_json::Value)),
)]
pub(crate) async fn openapi_json() -> Json<OpenApi> {
    Json(openapi())
}
