//! Ends requests that take too long.

use crate::error::{Answer, Problem};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use cofferdam_core::units::format_duration;
use std::time::Duration;

pub(crate) async fn timeout(
    State(limit): State<Duration>,
    request: Request,
    next: Next,
) -> Answer<Response> {
    tokio::time::timeout(limit, next.run(request)).await.map_err(|_| {
        let limit = format_duration(limit);
        Problem::unavailable("timeout", format!("the request was not done within {limit}"))
            .hint("try again; if it stays so, the server or its database is overloaded")
    })
}
