//! What the server does when it is to stop, and when its database is away.

use crate::server::{Api, Server, answer};
use cofferdam_api::types::JobView;
use cofferdam_core::state::JobState;
use cofferdam_testkit::platform::BOUND;
use cofferdam_testkit::wait_for;

#[tokio::test]
async fn a_wait_does_not_hold_up_the_end_of_the_server() {
    // given somebody who waits for a job that nobody runs
    let server = Server::start().await;
    server.platform.push("misbehave").await;
    let job = server.platform.submit("misbehave/echo", "").await;
    let waiting = server.get(&format!("/api/v1/jobs/{job}/wait?timeout=60s")).await;
    wait_for("the wait to begin", BOUND, async || {
        let (_, metrics) = answer(server.get("/metrics").await).await;
        let both = metrics.contains("cofferdam_http_requests_in_flight 2");
        if both { Ok(()) } else { Err(metrics) }
    })
    .await;
    // when the server is told to stop
    let (stopped, (status, body)) = tokio::join!(server.stop(), answer(waiting));
    // then it does, and the wait is answered before that
    assert!(stopped.is_ok());
    assert_eq!(status, 202);
    let job: JobView = serde_json::from_str(&body).unwrap();
    assert_eq!(job.summary.state, JobState::Available);
}

#[tokio::test]
async fn a_database_that_is_away_is_no_reason_to_die() {
    // given an API whose database does not answer
    let api = Api::start().await;
    api.platform.store.close().await;
    // when it is asked for something in the database
    for path in ["/readyz", "/api/v1/jobs", "/api/v1/modules/images", "/api/v1/queues"] {
        let reply = api.get(path).await;
        // then it says that this may work later, and nothing of what is inside
        let problem = reply.problem(503, "database-unavailable");
        assert_eq!(problem.detail, "the database does not answer");
        assert_eq!(reply.headers["retry-after"], "1");
    }
    // and what needs no database works
    assert_eq!(api.get("/healthz").await.status, 200);
    let metrics = String::from_utf8(api.get("/metrics").await.body).unwrap();
    assert!(metrics.contains("cofferdam_up 1") && metrics.contains("cofferdam_database_up 0"));
}
