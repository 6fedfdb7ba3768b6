//! Who may ask, and from where.

use crate::server::{Api, request};
use axum::body::Body;
use axum::http::{Method, StatusCode, header};

const TOKEN: &str = "correct horse battery staple";

/// Every operation of the OpenAPI document as a request, and whether it says that it needs no
/// token. Parameters of the path are filled in with something of their shape.
fn operations() -> Vec<(Method, String, bool)> {
    let document = serde_json::to_value(cofferdam_api::openapi()).unwrap();
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let path = path
            .replace("{id}", "01900000-0000-7000-8000-000000000000")
            .replace("{name}", "images")
            .replace("{version}", "1");
        for (method, operation) in item.as_object().unwrap() {
            let method = method.to_uppercase().parse().unwrap();
            let open = operation["security"] == serde_json::json!([{}]);
            operations.push((method, path.clone(), open));
        }
    }
    operations
}

#[tokio::test]
async fn every_operation_but_probes_and_callbacks_demands_the_token() {
    // given a server with a token
    let api = Api::with_token(TOKEN).await;
    let mut closed = 0;
    for (method, path, open) in operations() {
        if open {
            match path.as_str() {
                "/healthz" | "/readyz" => {
                    assert_eq!(api.get(&path).await.status, StatusCode::OK);
                }
                // Its token is in the path, and this one is none.
                "/api/v1/callbacks/{token}" => {
                    api.post("/api/v1/callbacks/none", "").await.problem(400, "bad-token");
                }
                _ => panic!("{path} is open"),
            }
            continue;
        }
        closed += 1;
        let wrong = "Bearer correct horse battery stapl";
        for header in [None, Some(wrong), Some("Bearer "), Some("Basic Y29ycmVjdA==")] {
            // when an operation is called without it
            let mut call = request(method.clone(), &path, Body::from("{}"));
            if let Some(header) = header {
                call.headers_mut().insert(header::AUTHORIZATION, header.parse().unwrap());
            }
            let reply = api.send(call).await;
            // then it is refused before anything else is looked at
            reply.problem(401, "unauthorized");
            assert_eq!(reply.headers[header::WWW_AUTHENTICATE], "Bearer");
        }
        // and when it is called with the token, it is not
        let mut call = request(method.clone(), &path, Body::from("{}"));
        let header = format!("bearer {TOKEN}").parse().unwrap();
        call.headers_mut().insert(header::AUTHORIZATION, header);
        let reply = api.send(call).await;
        assert_ne!(reply.status, StatusCode::UNAUTHORIZED, "{method} {path}");
        assert!(!reply.status.is_server_error(), "{method} {path}: {reply:?}");
    }
    assert!(closed > 20, "the document lists only {closed} operations behind the token");
}

#[tokio::test]
async fn pages_from_elsewhere_change_nothing() {
    let api = Api::start().await;
    for (origin, allowed) in [
        ("http://localhost", true),
        ("http://evil.example", false),
        ("http://localhost:8080", false),
        ("null", false),
    ] {
        // given a request that a browser sends for a page
        let mut call = request(Method::POST, "/api/v1/queues/default/pause", Body::empty());
        call.headers_mut().insert(header::ORIGIN, origin.parse().unwrap());
        // when it changes something
        let reply = api.send(call).await;
        // then the page must be our own
        if allowed {
            assert_ne!(reply.status, StatusCode::FORBIDDEN);
        } else {
            reply.problem(403, "cross-origin");
        }
    }
}

#[tokio::test]
async fn names_that_a_stranger_can_point_here_are_refused_without_a_token() {
    // given a server without a token
    let api = Api::start().await;
    let call = |host: &str| {
        let mut call = request(Method::GET, "/api/v1/info", Body::empty());
        call.headers_mut().insert(header::HOST, host.parse().unwrap());
        call
    };
    // when it is called by a name of someone's DNS
    let reply = api.send(call("rebound.example:7070")).await;
    // then it does not answer
    assert!(reply.problem(403, "unknown-host").hint.is_some());
    // but it does by its address
    assert_eq!(api.send(call("127.0.0.1:7070")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_server_without_a_token_stays_on_its_machine() {
    // given a platform and a listener that others can reach
    let platform = cofferdam_testkit::Platform::start().await;
    let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    // when it is to be served without a token
    let app = crate::server::app(&platform, None);
    let served = cofferdam_api::serve(listener, app, tokio_util::sync::CancellationToken::new());
    // then that is refused
    assert!(matches!(served.await, Err(cofferdam_api::ServeError::TokenNeeded(_))));
}

#[tokio::test]
async fn request_ids_are_taken_over_when_they_are_plain() {
    let api = Api::start().await;
    for (given, kept) in [("abc-123", true), ("a b", false), ("x\"y", false)] {
        let mut call = request(Method::GET, "/api/v1/nothing", Body::empty());
        call.headers_mut().insert("x-request-id", given.parse().unwrap());
        let problem = api.send(call).await.problem(404, "no-such-route");
        assert_eq!(problem.request_id == given, kept, "{given}");
    }
}
