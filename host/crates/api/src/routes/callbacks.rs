//! Callbacks: how the outside answers a job that waits for it.

use crate::app::Shared;
use crate::body;
use crate::error::{Answer, Problem};
use crate::extract::CallbackPath;
use crate::types::CallbackAnswer;
use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use cofferdam_core::wait::MAX_CALLBACK;

/// Call back
///
/// Answers the job that waits for this callback with the body, whatever it is, of at most 64 KiB.
/// The job runs again at once, and its handler is told. Works once. Asks for no token but the one
/// in the path, which a handler made and gave to whoever is to call.
#[utoipa::path(
    post, path = "/api/v1/callbacks/{token}",
    operation_id = "call_back", tag = "jobs", security(()),
    params(("token" = String, Path, description = "The callback's token")),
    request_body(
        content = String, content_type = "application/octet-stream",
        description = "Anything; may be left out",
    ),
    responses((status = 202, description = "The job goes on", body = CallbackAnswer)),
)]
pub(crate) async fn call_back(
    State(state): State<Shared>,
    CallbackPath(token): CallbackPath,
    request: Request,
) -> Answer<(StatusCode, Json<CallbackAnswer>)> {
    let (parts, body) = request.into_parts();
    let most = usize::try_from(MAX_CALLBACK).unwrap_or(usize::MAX);
    let bytes = body::read_all(body, body::announced(&parts.headers), most).await?;
    let job = state.store.call_back(token.hash(), &bytes).await?;
    let job = job.ok_or_else(|| {
        Problem::not_found("no-such-callback", "no job waits for this callback").hint(
            "it works once, until the job's wait is over; right after it was made the job may not \
             wait yet, so try again in a second",
        )
    })?;
    Ok((StatusCode::ACCEPTED, Json(CallbackAnswer { job })))
}
