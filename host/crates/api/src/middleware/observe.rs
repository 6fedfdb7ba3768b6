//! Gives each request an id, writes the bodies of problems, and logs one line at the end.

use crate::app::{Requests, Shared};
use crate::error::{Parts, Problem};
use crate::types::ProblemBody;
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// The header that carries the id, in and out.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest id that is taken over from a client: it is repeated in every log line.
const MAX_REQUEST_ID: usize = 64;

pub(crate) async fn observe(State(state): State<Shared>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(request.headers());
    let method = request.method().clone();
    // The pattern and not the path: what clients put into paths stays out of the log.
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let route = route.as_deref().unwrap_or("unknown");

    let mut response = {
        let _in_flight = InFlight::new(&state.requests.in_flight);
        next.run(request).await
    };

    count(&state.requests, response.status());
    let problem = response.extensions_mut().remove::<Problem>();
    if let Some(problem) = &problem {
        write_problem(&mut response, problem.parts(), &id);
    }
    log(&method, route, &id, started.elapsed(), response.status(), problem.as_ref());
    secure(response.headers_mut());
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// The client's own id where it is short and plain, a new one otherwise.
fn request_id(headers: &HeaderMap) -> String {
    let plain = |text: &&str| {
        (1..=MAX_REQUEST_ID).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
    };
    let given = headers.get(&REQUEST_ID).and_then(|value| value.to_str().ok()).filter(plain);
    given.map_or_else(|| Uuid::now_v7().to_string(), str::to_owned)
}

fn write_problem(response: &mut Response, parts: &Parts, id: &str) {
    let body = ProblemBody {
        kind: "about:blank".to_owned(),
        title: parts.status.canonical_reason().unwrap_or("Error").to_owned(),
        status: parts.status.as_u16(),
        code: parts.code.to_owned(),
        detail: parts.detail.clone(),
        hint: parts.hint.clone(),
        request_id: id.to_owned(),
        field: parts.field.clone(),
    };
    // Plain strings and a number: nothing in it can fail to be written.
    *response.body_mut() = Body::from(serde_json::to_vec(&body).unwrap_or_default());
    let media_type = HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    response.headers_mut().remove(header::CONTENT_LENGTH);
}

fn log(
    method: &Method,
    route: &str,
    id: &str,
    took: Duration,
    status: StatusCode,
    problem: Option<&Problem>,
) {
    let status = status.as_u16();
    let took = took.as_secs_f64() * 1000.0;
    match problem.map(Problem::parts) {
        Some(Parts { code, cause: Some(cause), .. }) => tracing::error!(
            http.method = %method, http.route = route, http.status = status, http.ms = took,
            request.id = id, code, cause, "request failed",
        ),
        Some(Parts { code, .. }) => tracing::info!(
            http.method = %method, http.route = route, http.status = status, http.ms = took,
            request.id = id, code, "request refused",
        ),
        None => tracing::debug!(
            http.method = %method, http.route = route, http.status = status, http.ms = took,
            request.id = id, "request answered",
        ),
    }
}

/// Counts a request while its handler runs, also when the client goes away before that.
struct InFlight<'a>(&'a AtomicU64);

impl<'a> InFlight<'a> {
    fn new(counter: &'a AtomicU64) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(counter)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn count(requests: &Requests, status: StatusCode) {
    let counter = if status.is_server_error() {
        &requests.failed
    } else if status.is_client_error() {
        &requests.refused
    } else {
        &requests.fine
    };
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Nothing that the server sends is a page, is fit for a cache, or is anything but what its
/// content type says: outputs of guests are served from here.
fn secure(headers: &mut HeaderMap) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'; sandbox"),
    );
}
