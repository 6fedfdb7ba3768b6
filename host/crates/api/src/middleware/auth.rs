//! Lets requests in that carry the token, on behalf of the tenant that it belongs to.

use crate::app::Shared;
use crate::error::{Answer, Problem};
use crate::extract::Tenant;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;
use cofferdam_core::ids::TenantId;

pub(crate) async fn auth(
    State(state): State<Shared>,
    mut request: Request,
    next: Next,
) -> Answer<Response> {
    if !state.admits(bearer(request.headers())) {
        return Err(Problem::unauthorized());
    }
    request.extensions_mut().insert(Tenant(TenantId::DEFAULT));
    Ok(next.run(request).await)
}

/// The token of the `Authorization` header. The scheme is compared without regard to case, as
/// RFC 9110 has it.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
