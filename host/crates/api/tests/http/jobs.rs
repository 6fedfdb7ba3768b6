//! Jobs from submission to their end.

use crate::server::Api;
use axum::http::StatusCode;
use cofferdam_api::types::{CancelAnswer, JobSummary, JobView, LogPage, Page, Submitted};
use cofferdam_core::class::FailureClass;
use cofferdam_core::state::JobState;
use cofferdam_testkit::platform::{BOUND, stop};
use cofferdam_testkit::{Platform, wait_for};

#[tokio::test]
async fn a_job_runs_and_its_output_comes_back_as_it_was_given() {
    // given a handler that returns its input
    let api = Api::start().await;
    api.platform.push("misbehave").await;
    let worker = api.platform.worker(Platform::quick()).await;
    // when a job with numbers that no float can hold is submitted and waited for
    let input = r#"{"n": 123456789012345678901234567890.10, "text": "ü\u0000"}"#;
    let id = api.submit(&format!(r#"{{"module": "misbehave/echo", "input": {input}}}"#)).await;
    let reply = api.get(&format!("/api/v1/jobs/{id}/wait?timeout=60s")).await;
    assert_eq!(reply.status, StatusCode::OK);
    let job: JobView = reply.json();
    // then it has ended well
    assert_eq!(job.summary.state, JobState::Completed);
    assert_eq!(job.summary.attempts, 1);
    assert_eq!(job.output_bytes, Some(input.len() as u64));
    assert!(job.usage.is_some_and(|usage| usage.fuel > 0));
    // and input and output are byte for byte what was sent, as JSON
    for part in ["input", "output"] {
        let reply = api.get(&format!("/api/v1/jobs/{id}/{part}")).await;
        assert_eq!(String::from_utf8(reply.body).unwrap(), input, "{part}");
        assert_eq!(reply.headers["content-type"], "application/json");
        assert_eq!(reply.headers["x-content-type-options"], "nosniff");
        assert_eq!(reply.headers["cache-control"], "no-store");
    }
    // and what is no JSON is bytes
    let raw = r#"{"module": "misbehave/echo", "input_base64": "AP8="}"#;
    let id = api.submit(raw).await;
    api.get(&format!("/api/v1/jobs/{id}/wait?timeout=60s")).await;
    let reply = api.get(&format!("/api/v1/jobs/{id}/output")).await;
    assert_eq!(reply.body, [0, 255]);
    assert_eq!(reply.headers["content-type"], "application/octet-stream");
    stop(worker).await;
}

#[tokio::test]
async fn a_job_that_fails_says_how() {
    // given a handler that panics
    let api = Api::start().await;
    api.platform.push("misbehave").await;
    let worker = api.platform.worker(Platform::quick()).await;
    // when a job of it is at its end
    let id = api.submit(r#"{"module": "misbehave/panic", "max_attempts": 2, "backoff": "none"}"#);
    let id = id.await;
    let job: JobView = api.get(&format!("/api/v1/jobs/{id}/wait?timeout=60s")).await.json();
    // then its history has each attempt
    assert_eq!(job.summary.state, JobState::Dead);
    assert_eq!(job.reason.as_deref(), Some("attempts"));
    assert_eq!((job.summary.attempts, job.max_attempts), (2, 2));
    assert_eq!(job.errors.len(), 2);
    assert!(job.errors.iter().all(|error| error.class == FailureClass::Trap), "{job:?}");
    assert_eq!(job.summary.class, Some(FailureClass::Trap));
    // and its log can be read to its end
    let page: LogPage = api.get(&format!("/api/v1/jobs/{id}/logs?limit=200")).await.json();
    assert!(page.done);
    assert!(page.items.iter().any(|line| line.attempt == 2), "{page:?}");
    // and it has no output
    api.get(&format!("/api/v1/jobs/{id}/output")).await.problem(404, "no-output");
    stop(worker).await;
}

#[tokio::test]
async fn waiting_ends_when_the_time_is_up() {
    // given a job that nobody runs
    let api = Api::start().await;
    api.platform.push("misbehave").await;
    let id = api.submit(r#"{"module": "misbehave/echo"}"#).await;
    // when it is waited for
    let reply = api.get(&format!("/api/v1/jobs/{id}/wait?timeout=50ms")).await;
    // then the answer is that it has not ended
    assert_eq!(reply.status, StatusCode::ACCEPTED);
    assert_eq!(reply.json::<JobView>().summary.state, JobState::Available);
}

#[tokio::test]
async fn submitting_twice_is_submitting_once() {
    let api = Api::start().await;
    api.platform.push("misbehave").await;
    let id = "01900000-0000-7000-8000-000000000001";
    let body = format!(r#"{{"module": "misbehave/echo", "id": "{id}", "delay": "1h"}}"#);
    for (status, created) in [(StatusCode::CREATED, true), (StatusCode::OK, false)] {
        // when the same id is submitted again
        let reply = api.post("/api/v1/jobs", body.clone()).await;
        // then the answer names the job that is there
        assert_eq!(reply.status, status);
        let job = reply.json::<Submitted>().jobs.remove(0);
        assert_eq!((job.id.to_string(), job.state), (id.to_owned(), JobState::Scheduled));
        assert_eq!(job.created, created);
    }
    // and when only one of several is new, something was created
    let body = format!(r#"{{"jobs": [{body}, {{"module": "misbehave/echo"}}]}}"#);
    let reply = api.post("/api/v1/jobs", body).await;
    assert_eq!(reply.status, StatusCode::CREATED);
    let jobs = reply.json::<Submitted>().jobs;
    assert_eq!(jobs.iter().map(|job| job.created).collect::<Vec<_>>(), [false, true]);
}

#[tokio::test]
async fn a_job_that_is_sent_alone_is_not_named_by_its_place() {
    let api = Api::start().await;
    api.platform.push("misbehave").await;
    for (job, code, field) in [
        (r#"{"module": "misbehave/slow", "input": {"ms": "long"}}"#, "payload-mismatch", "input"),
        (r#"{"module": "misbehave/echo", "args": ["x"]}"#, "not-a-command", "args"),
        (r#"{"module": "misbehave/echo", "max_attempts": 101}"#, "bad-options", "max_attempts"),
    ] {
        // when a job that cannot be is sent alone
        let problem = api.post("/api/v1/jobs", job).await.problem(422, code);
        // then its field stands for itself
        assert_eq!(problem.field.as_deref(), Some(field));
        assert!(!problem.detail.contains("job 0"), "{problem:?}");
        // and when it is the second of several, it is found
        let many = format!(r#"{{"jobs": [{{"module": "misbehave/echo"}}, {job}]}}"#);
        let problem = api.post("/api/v1/jobs", many).await.problem(422, code);
        assert_eq!(problem.field, Some(format!("jobs[1].{field}")));
        assert!(problem.detail.contains("job 1"), "{problem:?}");
    }
    assert_eq!(api.get("/api/v1/jobs").await.json::<Page<JobSummary>>().items, []);
}

#[tokio::test]
async fn several_jobs_are_accepted_all_or_none() {
    let api = Api::start().await;
    api.platform.push("misbehave").await;
    // given three jobs of which the last one does not match its schema
    let body = r#"{"jobs": [
        {"module": "misbehave/echo"},
        {"module": "misbehave/slow", "input": {"ms": 1}},
        {"module": "misbehave/slow", "input": {"ms": "long"}}
    ]}"#;
    // when they are submitted
    let problem = api.post("/api/v1/jobs", body).await.problem(422, "payload-mismatch");
    // then the one is named and none is there
    assert_eq!(problem.field.as_deref(), Some("jobs[2].input"));
    assert_eq!(api.get("/api/v1/jobs").await.json::<Page<JobSummary>>().items, []);
    // and a kind must be one of the module's
    let unknown = r#"{"module": "misbehave/behave"}"#;
    assert!(api.post("/api/v1/jobs", unknown).await.problem(404, "unknown-kind").hint.is_some());
    let needed = r#"{"module": "misbehave"}"#;
    assert!(api.post("/api/v1/jobs", needed).await.problem(422, "kind-needed").hint.is_some());
}

#[tokio::test]
async fn lists_are_paged_newest_first() {
    // given five jobs
    let api = Api::start().await;
    api.platform.push("misbehave").await;
    let jobs = vec![serde_json::json!({ "module": "misbehave/echo" }); 5];
    let body = serde_json::json!({ "jobs": jobs }).to_string();
    let submitted: Submitted = api.post("/api/v1/jobs", body).await.json();
    // when they are read in pages of two
    let mut seen = Vec::new();
    let mut cursor = String::new();
    for size in [2, 2, 1] {
        let page: Page<JobSummary> = api.get(&format!("/api/v1/jobs?limit=2{cursor}")).await.json();
        assert_eq!(page.items.len(), size);
        seen.extend(page.items.iter().map(|job| job.id));
        cursor = page.next.map(|next| format!("&before={next}")).unwrap_or_default();
    }
    // then the pages have each of them once, newest first, and end
    let mut expected: Vec<_> = submitted.jobs.iter().map(|job| job.id).collect();
    expected.sort();
    expected.reverse();
    assert_eq!((seen, cursor.as_str()), (expected, ""));
    // and filters hold
    for (filter, count) in [
        ("state=available&kind=echo&queue=default&module=misbehave", 5),
        ("state=running", 0),
        ("kind=panic", 0),
        ("queue=other", 0),
    ] {
        let page: Page<JobSummary> = api.get(&format!("/api/v1/jobs?{filter}")).await.json();
        assert_eq!(page.items.len(), count, "{filter}");
    }
}

#[tokio::test]
async fn waiting_jobs_are_cancelled_at_once_and_running_ones_soon() {
    let api = Api::start().await;
    api.platform.push("misbehave").await;
    // given a job that waits
    let waiting = api.submit(r#"{"module": "misbehave/echo", "delay": "1h"}"#).await;
    // when it is cancelled
    let reply = api.post(&format!("/api/v1/jobs/{waiting}/cancel"), "").await;
    // then it is
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(reply.json::<CancelAnswer>().state, JobState::Cancelled);
    // and cannot be again
    let again = api.post(&format!("/api/v1/jobs/{waiting}/cancel"), "").await;
    again.problem(409, "already-ended");

    // given a job that runs
    let worker = api.platform.worker(Platform::quick()).await;
    let body = r#"{"module": "misbehave/slow", "input": {"ms": 3600000}}"#;
    let running = api.submit(body).await;
    let id = running.parse().unwrap();
    api.platform.in_state(id, JobState::Running).await;
    // when it is cancelled
    let reply = api.post(&format!("/api/v1/jobs/{running}/cancel"), "").await;
    // then that is taken note of, and soon done
    assert_eq!(reply.status, StatusCode::ACCEPTED);
    let job: JobView = api.get(&format!("/api/v1/jobs/{running}/wait?timeout=60s")).await.json();
    assert_eq!(job.summary.state, JobState::Cancelled);
    assert_eq!(job.cause.as_deref(), Some("user"));
    stop(worker).await;
}

#[tokio::test]
async fn only_jobs_that_ended_badly_are_retried() {
    let api = Api::start().await;
    api.platform.push("misbehave").await;
    let id = api.submit(r#"{"module": "misbehave/echo", "delay": "1h"}"#).await;
    let path = format!("/api/v1/jobs/{id}/retry");
    // given a job that waits: it is not retried
    api.post(&path, "").await.problem(409, "not-retryable");
    // given the same job cancelled: it is
    api.post(&format!("/api/v1/jobs/{id}/cancel"), "").await;
    api.post(&path, r#"{"version": "7"}"#).await.problem(404, "no-such-version");
    let reply = api.post(&path, r#"{"version": "same"}"#).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED);
    // and runs
    let worker = api.platform.worker(Platform::quick()).await;
    let job = api.platform.ended(id.parse().unwrap()).await;
    assert_eq!(job.state, JobState::Completed);
    stop(worker).await;
}

#[tokio::test]
async fn a_log_can_be_followed_by_its_cursor() {
    // given a job that has not written anything
    let api = Api::start().await;
    api.platform.push("misbehave").await;
    let id = api.submit(r#"{"module": "misbehave/panic", "max_attempts": 1}"#).await;
    let path = format!("/api/v1/jobs/{id}/logs");
    let first: LogPage = api.get(&path).await.json();
    assert_eq!((first.items.len(), first.done), (0, false));
    // when it has run
    let worker = api.platform.worker(Platform::quick()).await;
    // then the cursor from before leads to what it wrote, and on to the end
    let lines = wait_for("the log's end", BOUND, async || {
        let page: LogPage = api.get(&format!("{path}?after={}", first.next)).await.json();
        if page.done { Ok(page.items) } else { Err("not done".to_owned()) }
    })
    .await;
    assert!(!lines.is_empty());
    stop(worker).await;
}
