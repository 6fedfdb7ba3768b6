//! Versions whose guests kill the processes that they run in.

use crate::server::Api;
use cofferdam_api::types::{ModuleDetail, ModuleView, Page, VersionDetail};
use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::{Counters, RetryPolicy, fail_attempt};
use cofferdam_core::history::PROCESS_DIED;
use cofferdam_core::outcome::{Failure, RetryAdvice, Usage};
use cofferdam_store::{Finish, FinishEnd};
use cofferdam_testkit::Platform;

/// Runs a job as a worker does whose child process dies of it.
async fn kill_a_process(platform: &Platform) {
    let key = platform.claim_as_a_ghost().await;
    let workers = platform.store.workers().await.unwrap();
    let ghost = workers.last().unwrap().id;
    let class = FailureClass::Lost;
    let failure = Failure::new(class, PROCESS_DIED, "the process of the guest died");
    let policy = RetryPolicy::default();
    let verdict = fail_attempt(class, RetryAdvice::Default, Counters::default(), &policy, 0.0);
    let end = FinishEnd::Failed { failure, verdict };
    let finish = Finish { key, end, usage: Usage::default() };
    let finished = platform.store.finish(ghost, &[finish]).await.unwrap();
    assert!(finished[0].applied.is_some());
}

/// S74: the version is shown with its reason, and an operator lifts it.
#[tokio::test]
async fn a_version_in_quarantine_is_shown_and_lifted() {
    // given a version that took three processes down
    let api = Api::start().await;
    let module = api.platform.push("misbehave").await;
    let path = format!("/api/v1/modules/misbehave/versions/{}", module.version);
    api.post(&format!("{path}/lift"), "").await.problem(409, "not-quarantined");
    for _ in 0..3 {
        api.submit(r#"{"module": "misbehave/echo"}"#).await;
    }
    for _ in 0..3 {
        kill_a_process(&api.platform).await;
    }

    // when it is looked at
    let version: VersionDetail = api.get(&path).await.json();
    let detail: ModuleDetail = api.get("/api/v1/modules/misbehave").await.json();
    let list: Page<ModuleView> = api.get("/api/v1/modules").await.json();

    // then everything says so
    assert!(version.version.quarantined_at.is_some());
    assert!(version.version.quarantine_reason.is_some_and(|reason| !reason.is_empty()));
    assert!(detail.versions[0].quarantined_at.is_some());
    assert!(list.items[0].quarantined_at.is_some());

    // when it is lifted, then nothing does any more, and once is enough
    let lifted: VersionDetail = api.post(&format!("{path}/lift"), "").await.json();
    assert_eq!((lifted.version.quarantined_at, lifted.version.quarantine_reason), (None, None));
    let list: Page<ModuleView> = api.get("/api/v1/modules").await.json();
    assert_eq!(list.items[0].quarantined_at, None);
    api.post(&format!("{path}/lift"), "").await.problem(409, "not-quarantined");
    api.post("/api/v1/modules/misbehave/versions/none/lift", "")
        .await
        .problem(404, "no-such-version");
}
