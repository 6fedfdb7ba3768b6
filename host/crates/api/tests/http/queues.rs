//! Queues, workers, and what the server says of itself.

use crate::server::Api;
use axum::http::StatusCode;
use cofferdam_api::types::{Info, Page, QueueView, WorkerView};
use cofferdam_testkit::Platform;
use cofferdam_testkit::platform::stop;

#[tokio::test]
async fn a_queue_is_paused_and_resumed() {
    // given a job in a queue
    let api = Api::start().await;
    api.platform.push("misbehave").await;
    api.submit(r#"{"module": "misbehave/echo", "queue": "images"}"#).await;
    // when the queue is paused
    let queue: QueueView = api.post("/api/v1/queues/images/pause", "").await.json();
    // then it says so, and how full it is
    assert!(queue.paused && queue.paused_at.is_some());
    assert_eq!((queue.ready_at_least, queue.capped, queue.running), (1, false, 0));
    let page: Page<QueueView> = api.get("/api/v1/queues").await.json();
    assert!(page.items.iter().any(|queue| queue.name.as_str() == "images" && queue.paused));
    // when it is resumed, then it says that
    let queue: QueueView = api.post("/api/v1/queues/images/resume", "").await.json();
    assert!(!queue.paused && queue.paused_at.is_none());
    // and a queue that nobody used cannot be resumed
    api.post("/api/v1/queues/nothing/resume", "").await.problem(404, "no-such-queue");
}

#[tokio::test]
async fn workers_and_metrics_are_seen() {
    // given a worker
    let api = Api::start().await;
    let worker = api.platform.worker(Platform::quick()).await;
    // when workers are listed, then it is there
    let page: Page<WorkerView> = api.get("/api/v1/workers").await.json();
    assert_eq!(page.items.len(), 1);
    assert_eq!(page.items[0].slots, 16);
    assert!(!page.items[0].draining);
    // and the metrics count it
    let reply = api.get("/metrics").await;
    assert_eq!(reply.status, StatusCode::OK);
    assert!(reply.headers["content-type"].to_str().unwrap().starts_with("text/plain"));
    let text = String::from_utf8(reply.body).unwrap();
    for line in ["cofferdam_up 1", "cofferdam_workers 1", "cofferdam_worker_slots 16"] {
        assert!(text.lines().any(|found| found == line), "`{line}` is missing in\n{text}");
    }
    stop(worker).await;
}

#[tokio::test]
async fn the_server_says_what_it_is() {
    let api = Api::start().await;
    let info: Info = api.get("/api/v1/info").await.json();
    assert_eq!(info.wit_version, "0.1.0");
    let document: serde_json::Value = api.get("/api/v1/openapi.json").await.json();
    assert_eq!(document["info"]["title"], "Cofferdam");
    api.assert_alive().await;
}
