//! The dead-letter queue.

use crate::server::Api;
use axum::http::StatusCode;
use cofferdam_api::types::{DlqDetail, DlqView, Page, Purged, Retried};
use cofferdam_core::class::FailureClass;
use cofferdam_core::state::JobState;
use cofferdam_testkit::Platform;
use cofferdam_testkit::platform::stop;

/// An API with two dead letters, of the kinds `permanent` and `divide`, and nobody to run more.
async fn with_letters() -> (Api, [String; 2]) {
    let api = Api::start().await;
    api.platform.push("misbehave").await;
    let worker = api.platform.worker(Platform::quick()).await;
    let permanent = api.submit(r#"{"module": "misbehave/permanent", "metadata": {"a": "b"}}"#);
    let permanent = permanent.await;
    let divide = api.submit(r#"{"module": "misbehave/divide", "max_attempts": 1}"#).await;
    for id in [&permanent, &divide] {
        api.platform.ended(id.parse().unwrap()).await;
    }
    stop(worker).await;
    (api, [permanent, divide])
}

#[tokio::test]
async fn dead_letters_say_what_happened() {
    let (api, [permanent, divide]) = with_letters().await;
    // when they are listed
    let page: Page<DlqView> = api.get("/api/v1/dlq").await.json();
    // then they are there, newest first
    let ids: Vec<_> = page.items.iter().map(|letter| letter.id.to_string()).collect();
    assert_eq!(ids, [divide.clone(), permanent.clone()]);
    let page: Page<DlqView> = api.get("/api/v1/dlq?kind=permanent").await.json();
    assert_eq!(page.items.len(), 1);
    assert_eq!(page.items[0].state, JobState::Failed);
    // and each has its whole story
    let letter: DlqDetail = api.get(&format!("/api/v1/dlq/{permanent}")).await.json();
    assert_eq!(letter.letter.class, Some(FailureClass::Permanent));
    assert_eq!(letter.letter.message.as_deref(), Some("this can never work"));
    assert_eq!(letter.errors[0].code, "hopeless");
    assert_eq!(letter.metadata["a"], "b");
    assert!(letter.digest.is_some() && letter.usage.is_some());
    let letter: DlqDetail = api.get(&format!("/api/v1/dlq/{divide}")).await.json();
    assert_eq!(letter.letter.state, JobState::Dead);
    assert!(!letter.errors[0].backtrace.is_empty());
}

#[tokio::test]
async fn dead_letters_are_retried_by_id_kind_or_altogether() {
    let (api, [permanent, divide]) = with_letters().await;
    for body in [
        format!(r#"{{"ids": ["{permanent}"]}}"#),
        r#"{"kind": "divide", "version": "current"}"#.to_owned(),
    ] {
        // when some are chosen
        let reply = api.post("/api/v1/dlq/retry", body).await;
        // then just they are retried
        assert_eq!(reply.status, StatusCode::ACCEPTED);
        assert_eq!(reply.json::<Retried>().retried, 1);
    }
    assert_eq!(api.get("/api/v1/dlq").await.json::<Page<DlqView>>().items, []);
    // and one that is not there is none
    let reply = api.post("/api/v1/dlq/retry", format!(r#"{{"ids": ["{divide}"]}}"#)).await;
    assert_eq!(reply.json::<Retried>().retried, 0);
    // and all of them are, once they failed again
    let worker = api.platform.worker(Platform::quick()).await;
    for id in [&permanent, &divide] {
        api.platform.ended(id.parse().unwrap()).await;
    }
    stop(worker).await;
    let reply = api.post("/api/v1/dlq/retry", r#"{"all": true}"#).await;
    assert_eq!(reply.json::<Retried>().retried, 2);
}

#[tokio::test]
async fn purging_deletes_for_good() {
    let (api, [permanent, divide]) = with_letters().await;
    // given letters of today: a purge of old ones leaves them
    let old = r#"{"all": true, "older_than": "30d"}"#;
    assert_eq!(api.post("/api/v1/dlq/purge", old).await.json::<Purged>().purged, 0);
    // when one is purged
    let one = format!(r#"{{"ids": ["{permanent}"]}}"#);
    assert_eq!(api.post("/api/v1/dlq/purge", one).await.json::<Purged>().purged, 1);
    // then its job is gone, too
    api.get(&format!("/api/v1/dlq/{permanent}")).await.problem(404, "no-such-letter");
    api.get(&format!("/api/v1/jobs/{permanent}")).await.problem(404, "no-such-job");
    // and the other is still there until it is meant
    assert_eq!(api.get(&format!("/api/v1/dlq/{divide}")).await.status, StatusCode::OK);
    let rest = api.post("/api/v1/dlq/purge", r#"{"kind": "divide"}"#).await;
    assert_eq!(rest.json::<Purged>().purged, 1);
}
