//! Requests that cannot be right: each is refused in words, and the server goes on.

use crate::server::{Api, request};
use axum::body::{Body, Bytes};
use axum::http::{Method, header};
use futures_util::stream;

#[tokio::test]
async fn submissions_that_cannot_be_right() {
    let api = Api::start().await;
    let nul = r#"{"module": "m", "metadata": {"a": "b\u0000c"}}"#;
    let deep = format!(r#"{{"module": {}1{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    let rows: &[(&str, u16, &str, Option<&str>)] = &[
        ("", 400, "bad-json", None),
        ("not json", 400, "bad-json", None),
        (r#"{"module": "m""#, 400, "bad-json", None),
        (r#"{"module": "m"} trailing"#, 400, "bad-json", None),
        ("[]", 422, "bad-field", None),
        ("{}", 422, "bad-field", None),
        (r#"{"module": "m", "colour": 1}"#, 422, "bad-field", Some("colour")),
        (r#"{"module": "M"}"#, 422, "bad-field", Some("module")),
        (r#"{"module": "m\u0000"}"#, 422, "bad-field", Some("module")),
        (r#"{"module": "m", "id": "7"}"#, 422, "bad-field", Some("id")),
        (r#"{"module": "m", "priority": 9}"#, 422, "bad-field", Some("priority")),
        (r#"{"module": "m", "deadline": "soon"}"#, 422, "bad-field", Some("deadline")),
        (r#"{"module": "m", "memory": "64MB"}"#, 422, "bad-field", Some("memory")),
        (r#"{"module": "m", "run_at": "tomorrow"}"#, 422, "bad-field", Some("run_at")),
        (r#"{"module": "m", "fuel": -1}"#, 422, "bad-field", Some("fuel")),
        (r#"{"module": "m", "input_base64": "%"}"#, 422, "bad-field", Some("input_base64")),
        (
            r#"{"module": "m", "input": 1, "input_base64": ""}"#,
            422,
            "bad-field",
            Some("input_base64"),
        ),
        (
            r#"{"module": "m", "run_at": "2030-01-01T00:00:00Z", "delay": "1s"}"#,
            422,
            "bad-field",
            Some("delay"),
        ),
        (r#"{"module": "m", "delay": "31d"}"#, 422, "bad-field", Some("delay")),
        (
            r#"{"jobs": [{"module": "m"}, {"module": "m", "priority": "high"}]}"#,
            422,
            "bad-field",
            Some("jobs[1].priority"),
        ),
        (
            r#"{"jobs": [{"module": "m", "input_base64": "%"}]}"#,
            422,
            "bad-field",
            Some("jobs[0].input_base64"),
        ),
        (r#"{"jobs": []}"#, 422, "no-jobs", None),
        (r#"{"module": "m", "max_attempts": 0}"#, 422, "bad-options", Some("max_attempts")),
        (r#"{"module": "m", "memory": "0B"}"#, 422, "bad-options", Some("memory")),
        (r#"{"jobs": [{"module": "m", "fuel": 0}]}"#, 422, "bad-options", Some("jobs[0].fuel")),
        (nul, 422, "bad-options", Some("metadata")),
        (r#"{"module": "nothing-here"}"#, 404, "unknown-module", Some("module")),
        (&deep, 422, "bad-field", Some("module")),
    ];
    for (body, status, code, field) in rows {
        let reply = api.post("/api/v1/jobs", (*body).to_owned()).await;
        let problem = reply.problem(*status, code);
        assert_eq!(problem.field.as_deref(), *field, "{body:.80}: {problem:?}");
    }
    api.assert_alive().await;
    // and nothing was stored
    let page: serde_json::Value = api.get("/api/v1/jobs").await.json();
    assert_eq!(page["items"], serde_json::json!([]));
}

#[tokio::test]
async fn paths_and_queries_that_cannot_be_right() {
    let api = Api::start().await;
    let job = "01900000-0000-7000-8000-000000000000";
    let rows = [
        ("/api/v1/jobs/17", 400, "bad-id"),
        ("/api/v1/jobs/%00", 400, "bad-id"),
        ("/api/v1/jobs/%ff", 400, "bad-path"),
        (&format!("/api/v1/jobs/{job}"), 404, "no-such-job"),
        (&format!("/api/v1/jobs/{job}/input"), 404, "no-such-job"),
        (&format!("/api/v1/jobs/{job}/output"), 404, "no-such-job"),
        (&format!("/api/v1/jobs/{job}/wait?timeout=1s"), 404, "no-such-job"),
        (&format!("/api/v1/jobs/{job}/wait?timeout=61s"), 400, "bad-query"),
        (&format!("/api/v1/jobs/{job}/logs"), 404, "no-such-job"),
        (&format!("/api/v1/jobs/{job}/logs?after=x"), 400, "bad-cursor"),
        (&format!("/api/v1/dlq/{job}"), 404, "no-such-letter"),
        ("/api/v1/jobs?before=x", 400, "bad-cursor"),
        ("/api/v1/jobs?limit=0", 400, "bad-query"),
        ("/api/v1/jobs?limit=201", 400, "bad-query"),
        ("/api/v1/jobs?limit=many", 400, "bad-query"),
        ("/api/v1/jobs?state=lost", 400, "bad-query"),
        ("/api/v1/jobs?colour=red", 400, "bad-query"),
        ("/api/v1/jobs?kind=a%00b", 400, "bad-query"),
        ("/api/v1/dlq?before=x", 400, "bad-cursor"),
        ("/api/v1/modules?before=%2e%2e%2f", 400, "bad-cursor"),
        ("/api/v1/modules/NO", 400, "bad-name"),
        ("/api/v1/modules/a%00b", 400, "bad-name"),
        ("/api/v1/modules/images", 404, "no-such-module"),
        ("/api/v1/modules/images/versions/1", 404, "no-such-module"),
        ("/api/v1/modules/images/versions/a%20b", 400, "bad-name"),
        ("/api/v1/nothing", 404, "no-such-route"),
        ("/", 404, "no-such-route"),
    ];
    for (path, status, code) in rows {
        api.get(path).await.problem(status, code);
    }
    for method in [Method::PUT, Method::PATCH, Method::DELETE] {
        let reply = api.send(request(method, "/api/v1/jobs", Body::empty())).await;
        reply.problem(405, "method-not-allowed");
        let allowed = reply.headers[header::ALLOW].to_str().unwrap();
        assert!(allowed.contains("GET") && allowed.contains("POST"), "{allowed}");
    }
    api.post("/api/v1/modules/NO/versions/1/activate", "").await.problem(400, "bad-name");
    api.post("/api/v1/queues/NO/pause", "").await.problem(400, "bad-name");
    api.assert_alive().await;
}

#[tokio::test]
async fn bulk_requests_must_say_what_they_mean() {
    let api = Api::start().await;
    for path in ["/api/v1/dlq/retry", "/api/v1/dlq/purge"] {
        for body in ["{}", r#"{"all": false}"#, r#"{"all": true, "kind": "a"}"#, r#"{"ids": []}"#] {
            api.post(path, body).await.problem(422, "ambiguous-selection");
        }
        let many = vec!["01900000-0000-7000-8000-000000000000"; 1001];
        let body = serde_json::json!({ "ids": many }).to_string();
        api.post(path, body).await.problem(422, "too-many-ids");
        api.post(path, r#"{"ids": ["x"]}"#).await.problem(422, "bad-field");
        api.post(path, r#"{"colour": 1}"#).await.problem(422, "bad-field");
    }
    let soon = r#"{"all": true, "older_than": "a while"}"#;
    api.post("/api/v1/dlq/purge", soon).await.problem(422, "bad-field");
    api.assert_alive().await;
}

#[tokio::test]
async fn bodies_have_a_limit_whatever_they_announce() {
    let api = Api::start().await;
    // given a payload of 64 MiB, announced
    let body = format!(r#"{{"module": "m", "input": "{}"}}"#, "x".repeat(64 << 20));
    let mut call = request(Method::POST, "/api/v1/jobs", Body::from(body));
    call.headers_mut().insert(header::CONTENT_LENGTH, (64_u32 << 20).into());
    // then it is refused with a hint
    let problem = api.send(call).await.problem(413, "body-too-large");
    assert!(problem.hint.is_some());

    // given a body that does not say how long it is and goes on
    let chunk = Bytes::from(vec![b' '; 1 << 20]);
    let chunks = stream::iter((0..64).map(move |_| Ok::<_, std::io::Error>(chunk.clone())));
    let call = request(Method::POST, "/api/v1/jobs", Body::from_stream(chunks));
    // then it is refused where it passes the limit
    api.send(call).await.problem(413, "body-too-large");

    // given a payload within the body's limit, but over that of payloads
    let body = format!(r#"{{"module": "m", "input": "{}"}}"#, "x".repeat(9 << 20));
    // then it is refused, too
    let problem = api.post("/api/v1/jobs", body).await.problem(413, "payload-too-large");
    assert_eq!(problem.field.as_deref(), Some("input"));

    // given a small request that is not small
    let body = format!(r#"{{"version": "{}"}}"#, "1".repeat(65 << 10));
    let path = "/api/v1/jobs/01900000-0000-7000-8000-000000000000/retry";
    api.post(path, body).await.problem(413, "body-too-large");
    api.assert_alive().await;
}

#[tokio::test]
async fn bodies_must_say_that_they_are_json() {
    // given a body as a form of a web page could send it
    let api = Api::start().await;
    let mut call = request(Method::POST, "/api/v1/jobs", Body::from(r#"{"module": "m"}"#));
    call.headers_mut().insert(header::CONTENT_TYPE, "text/plain".parse().unwrap());
    // then it is not read
    api.send(call).await.problem(415, "unsupported-media-type");
}

#[tokio::test]
async fn a_body_that_breaks_off_is_told_so() {
    // given a body whose connection is lost half-way
    let api = Api::start().await;
    let chunks = [Ok(Bytes::from_static(b"{\"module\"")), Err(std::io::Error::other("lost"))];
    let call = request(Method::POST, "/api/v1/jobs", Body::from_stream(stream::iter(chunks)));
    // then the answer says so
    api.send(call).await.problem(400, "body-truncated");
}
