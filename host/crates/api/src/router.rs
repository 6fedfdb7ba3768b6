//! The one table of routes.

use crate::app::{App, Shared, State};
use crate::error::Problem;
use crate::middleware::{auth, drain, observe, origin, panic, timeout};
use crate::openapi;
use crate::routes::{
    callbacks, cluster, dlq, docs, health, info, jobs, logs, metrics, modules, outcome, queues,
    secrets, submit, workers,
};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long a wait may take: the longest that clients may ask for, and what surrounds it.
const WAIT_TIMEOUT: Duration = Duration::from_secs(90);
/// How long a request that works through a list may take.
const BULK_TIMEOUT: Duration = Duration::from_mins(5);
/// How long an upload may take, with compiling: 64 MiB over a slow line.
const UPLOAD_TIMEOUT: Duration = Duration::from_mins(10);

/// Routes that answer at once.
fn quick() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(docs::openapi_json))
        .routes(routes!(metrics::metrics))
        .routes(routes!(info::info))
        .routes(routes!(modules::list))
        .routes(routes!(modules::show, modules::delete))
        .routes(routes!(modules::show_version, modules::delete_version))
        .routes(routes!(modules::activate))
        .routes(routes!(modules::lift))
        .routes(routes!(jobs::list, submit::submit))
        .routes(routes!(jobs::show))
        .routes(routes!(outcome::input))
        .routes(routes!(outcome::output))
        .routes(routes!(jobs::cancel))
        .routes(routes!(jobs::retry))
        .routes(routes!(logs::list))
        .routes(routes!(dlq::list))
        .routes(routes!(dlq::show))
        .routes(routes!(queues::list))
        .routes(routes!(queues::pause))
        .routes(routes!(queues::resume))
        .routes(routes!(secrets::list))
        .routes(routes!(secrets::set, secrets::delete))
        .routes(routes!(workers::list))
        .routes(routes!(workers::drain))
        .routes(routes!(cluster::show))
}

/// Routes that wait for something.
fn waiting() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(outcome::wait))
}

/// Routes that may do the same to very many.
fn bulk() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(dlq::retry))
        .routes(routes!(dlq::purge))
        .routes(routes!(workers::evict))
}

/// Routes that take a component.
fn uploading() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(modules::publish))
}

/// Routes for the outside that a handler told about itself. Their own token is in the path.
fn callbacks() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(callbacks::call_back))
}

/// Routes for whoever watches over the process. They ask for no token at all: a probe has none, and
/// they say nothing but yes or no.
fn probes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(health::healthz)).routes(routes!(health::readyz))
}

/// The same table without a server around it, for the OpenAPI document.
pub(crate) fn table() -> OpenApiRouter<Shared> {
    OpenApiRouter::with_openapi(openapi::head())
        .merge(quick())
        .merge(waiting())
        .merge(bulk())
        .merge(uploading())
        .merge(callbacks())
        .merge(probes())
}

/// The API as a service. Waits end when the process does: a server that shuts down gracefully is
/// run with [`crate::serve()`].
pub fn router(app: App) -> Router {
    with_state(State::new(app, CancellationToken::new()))
}

pub(crate) fn with_state(state: Shared) -> Router {
    let limit = |time: Duration| from_fn_with_state(time, timeout::timeout);
    let behind_auth = OpenApiRouter::new()
        .merge(quick().route_layer(limit(TIMEOUT)))
        .merge(waiting().route_layer(limit(WAIT_TIMEOUT)))
        .merge(bulk().route_layer(limit(BULK_TIMEOUT)))
        .merge(uploading().route_layer(limit(UPLOAD_TIMEOUT)))
        .route_layer(from_fn_with_state(Shared::clone(&state), auth::auth));
    let (router, _) = behind_auth
        .merge(callbacks().merge(probes()).route_layer(limit(TIMEOUT)))
        .split_for_parts();
    router
        .fallback(|| async { Problem::not_found("no-such-route", "there is nothing at this path") })
        .method_not_allowed_fallback(|| async { Problem::method_not_allowed() })
        // Bodies have limits of their own, each where it is read.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(Shared::clone(&state), origin::origin))
        .layer(CatchPanicLayer::custom(panic::answer))
        .layer(from_fn(drain::drain))
        .layer(from_fn_with_state(Shared::clone(&state), observe::observe))
        .with_state(state)
}
