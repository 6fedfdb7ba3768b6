//! Turns a panic of a handler into an answer, so that it costs one request and nothing else.

use crate::error::Problem;
use axum::response::{IntoResponse as _, Response};
use std::any::Any;

/// The answer to a request whose handler panicked.
#[expect(clippy::needless_pass_by_value, reason = "the signature that the layer calls")]
pub(crate) fn answer(panic: Box<dyn Any + Send>) -> Response {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    Problem::internal(format!("a handler panicked: {text}")).into_response()
}
