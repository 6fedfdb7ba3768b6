//! Secrets: set, listed by name, deleted, and never shown.

use crate::app::Shared;
use crate::body;
use crate::error::Answer;
use crate::extract::{SecretPath, Tenant};
use crate::types::{Page, SecretView};
use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use cofferdam_core::secret::MAX_SECRET;

/// Secrets
///
/// All of them by name. Values are shown to nobody.
#[utoipa::path(
    get, path = "/api/v1/secrets",
    operation_id = "list_secrets", tag = "secrets",
    responses((status = 200, description = "Their names", body = Page<SecretView>)),
)]
pub(crate) async fn list(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
) -> Answer<Json<Page<SecretView>>> {
    let secrets = state.secrets.list(tenant).await?;
    Ok(Json(Page::whole(secrets.into_iter().map(SecretView::from).collect())))
}

/// Set a secret
///
/// The body is the value as it is: UTF-8 text of 1 B to 64 KiB. It is sealed before it is stored,
/// and attempts that start from now on are given it.
#[utoipa::path(
    put, path = "/api/v1/secrets/{name}",
    operation_id = "set_secret", tag = "secrets",
    params(("name" = String, Path, description = "The secret")),
    request_body(
        content = String, content_type = "application/octet-stream",
        description = "The value, and nothing else",
    ),
    responses(
        (status = 201, description = "There was none of this name"),
        (status = 204, description = "It took the place of the one before"),
    ),
)]
pub(crate) async fn set(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    SecretPath(name): SecretPath,
    request: Request,
) -> Answer<StatusCode> {
    let (parts, body) = request.into_parts();
    // As small as what the budget for bodies lets in unasked.
    let value = body::read_all(body, body::announced(&parts.headers), MAX_SECRET).await?;
    let created = state.secrets.set(tenant, &name, value).await?;
    Ok(if created { StatusCode::CREATED } else { StatusCode::NO_CONTENT })
}

/// Delete a secret
///
/// Attempts that have its value keep it until they end.
#[utoipa::path(
    delete, path = "/api/v1/secrets/{name}",
    operation_id = "delete_secret", tag = "secrets",
    params(("name" = String, Path, description = "The secret")),
    responses((status = 204, description = "It is gone")),
)]
pub(crate) async fn delete(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    SecretPath(name): SecretPath,
) -> Answer<StatusCode> {
    state.secrets.delete(tenant, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
