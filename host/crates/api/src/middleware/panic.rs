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

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::body::Body;
    use axum::extract::Request;
    use axum::http::StatusCode;
    use axum::routing::get;
    use tower::ServiceExt as _;
    use tower_http::catch_panic::CatchPanicLayer;

    async fn panics() -> StatusCode {
        panic!("the secret ingredient is missing")
    }

    #[tokio::test]
    async fn a_panic_is_an_answer_that_keeps_its_reason_to_itself() {
        // given a route that panics
        let router = Router::new().route("/", get(panics)).layer(CatchPanicLayer::custom(answer));
        // when it is called
        let response = router.oneshot(Request::new(Body::empty())).await.unwrap();
        // then the reason is for the log alone
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let problem = response.extensions().get::<Problem>().unwrap().parts();
        assert!(problem.cause.as_ref().unwrap().contains("ingredient"));
        assert!(!problem.detail.contains("ingredient"));
    }
}
