//! Callbacks, and what strangers get who have no token of one.

use crate::server::{Api, request};
use axum::body::Body;
use axum::http::{Method, header};
use cofferdam_api::types::{CallbackAnswer, JobView};
use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::{Counters, RetryPolicy, fail_attempt};
use cofferdam_core::ids::JobId;
use cofferdam_core::outcome::{Failure, RetryAdvice, Usage};
use cofferdam_core::state::JobState;
use cofferdam_core::wait::{CallbackToken, MAX_CALLBACK};
use cofferdam_store::{Finish, FinishEnd};
use cofferdam_testkit::Platform;
use std::time::Duration;

const TOKEN: &str = "correct horse battery staple";

/// Ends the attempt of the one job that can be claimed, as that of a handler which waits.
async fn put_aside(platform: &Platform, callback: &CallbackToken) {
    let key = platform.claim_as_a_ghost().await;
    let ghost = platform.store.workers().await.unwrap().last().unwrap().id;
    let class = FailureClass::Snoozed;
    let mut failure = Failure::new(class, "suspended", "the job waits");
    failure.advice = RetryAdvice::Wait(Duration::from_hours(1));
    failure.callback = Some(Box::new(callback.hash()));
    let policy = RetryPolicy::default();
    let verdict = fail_attempt(class, failure.advice, Counters::default(), &policy, 0.0);
    let finish =
        Finish { key, end: FinishEnd::Failed { failure, verdict }, usage: Usage::default() };
    let finished = platform.store.finish(ghost, &[finish]).await.unwrap();
    assert_eq!(finished[0].applied, Some(JobState::Suspended));
}

/// A server with a token, and a job that waits for a callback.
async fn with_a_waiting_job() -> (Api, JobId, CallbackToken) {
    let api = Api::with_token(TOKEN).await;
    api.platform.push("misbehave").await;
    let id = api.platform.submit("misbehave/echo", "1").await;
    let token = CallbackToken::from_bits([7; 32]);
    put_aside(&api.platform, &token).await;
    (api, id, token)
}

/// S39: whoever calls back has no token but that of the callback.
#[tokio::test]
async fn a_callback_needs_no_other_token_and_works_once() {
    // given a server with a token, and a job that waits
    let (api, id, token) = with_a_waiting_job().await;

    // when a stranger calls back who was given the callback
    let path = format!("/api/v1/callbacks/{}", token.as_str());
    let reply = api.post(&path, r#"{"approved": true}"#).await;

    // then the job can be claimed
    assert_eq!((reply.status.as_u16(), reply.json::<CallbackAnswer>().job), (202, id));
    assert_eq!(api.platform.job(id).await.state, JobState::Available);
    // and once was enough
    let problem = api.post(&path, "").await.problem(404, "no-such-callback");
    assert!(problem.hint.unwrap().contains("once"));
}

#[tokio::test]
async fn a_callback_that_is_none_changes_nothing() {
    let (api, id, token) = with_a_waiting_job().await;
    let path = format!("/api/v1/callbacks/{}", token.as_str());

    // what is no token is said not to be one, and not repeated
    for text in ["friend", "cofcb_0", "cofcb_%00", &format!("cofcb_{}", "z".repeat(64))] {
        let problem = api.post(&format!("/api/v1/callbacks/{text}"), "").await;
        let problem = problem.problem(400, "bad-token");
        assert!(!problem.detail.contains(text), "{}", problem.detail);
    }
    // a token that nobody made is nobody's
    let other = CallbackToken::from_bits([8; 32]);
    let unknown = format!("/api/v1/callbacks/{}", other.as_str());
    api.post(&unknown, "").await.problem(404, "no-such-callback");
    // one that says too much is refused whole, announced or not
    let long = vec![b'x'; usize::try_from(MAX_CALLBACK).unwrap() + 1];
    api.post(&path, long.clone()).await.problem(413, "body-too-large");
    let mut unannounced = request(Method::POST, &path, Body::from(long));
    unannounced.headers_mut().remove(header::CONTENT_LENGTH);
    api.send(unannounced).await.problem(413, "body-too-large");

    assert_eq!(api.platform.job(id).await.state, JobState::Suspended);
    // and the largest that it may be is kept
    let most = vec![b'x'; usize::try_from(MAX_CALLBACK).unwrap()];
    assert_eq!(api.post(&path, most).await.status.as_u16(), 202);
}

/// The state is shown, with the time at which the wait is over.
#[tokio::test]
async fn a_job_that_waits_is_shown_and_cancelled() {
    let api = Api::start().await;
    api.platform.push("misbehave").await;
    let id = api.submit(r#"{"module": "misbehave/echo"}"#).await;
    put_aside(&api.platform, &CallbackToken::from_bits([7; 32])).await;
    let job: JobView = api.get(&format!("/api/v1/jobs/{id}")).await.json();
    assert_eq!(job.summary.state, JobState::Suspended);
    let over = job.summary.run_at.expect("it is over some time");
    assert!(over > job.summary.created_at + Duration::from_mins(59));
    let listed = api.get("/api/v1/jobs?state=suspended").await;
    assert!(String::from_utf8_lossy(&listed.body).contains(&id));
    assert_eq!(api.post(&format!("/api/v1/jobs/{id}/cancel"), "").await.status.as_u16(), 200);
}
