//! Modules and their versions.

use crate::server::Api;
use axum::http::StatusCode;
use cofferdam_api::types::{ModuleDetail, ModuleView, Page, VersionDetail};

#[tokio::test]
async fn modules_are_listed_and_described() {
    // given two modules
    let api = Api::start().await;
    api.platform.push("misbehave").await;
    api.platform.push("wordcount").await;
    // when they are listed
    let page: Page<ModuleView> = api.get("/api/v1/modules").await.json();
    // then both are there
    let names: Vec<_> = page.items.iter().map(|module| module.name.as_str()).collect();
    assert_eq!(names.len(), 2);
    assert!(names.contains(&"misbehave") && names.contains(&"wordcount"));
    // and one at a time is, too
    let first: Page<ModuleView> = api.get("/api/v1/modules?limit=1").await.json();
    let next = first.next.expect("there is another page");
    let second: Page<ModuleView> =
        api.get(&format!("/api/v1/modules?limit=1&before={next}")).await.json();
    assert_eq!(second.next, None);
    assert_ne!(first.items[0].name, second.items[0].name);
    // and each can be looked at
    let module: ModuleDetail = api.get("/api/v1/modules/misbehave").await.json();
    let version = module.current.expect("it is active");
    assert_eq!(module.versions.len(), 1);
    assert!(module.kinds.iter().any(|kind| kind.name.as_str() == "spin"));
    let path = format!("/api/v1/modules/misbehave/versions/{version}");
    let version: VersionDetail = api.get(&path).await.json();
    assert!(version.version.active);
    assert!(version.imports.iter().any(|import| import.contains("cofferdam:job")));
}

#[tokio::test]
async fn what_waiting_jobs_need_is_not_deleted() {
    // given a job that waits for its time
    let api = Api::start().await;
    let module = api.platform.push("misbehave").await;
    let id = api.submit(r#"{"module": "misbehave/echo", "delay": "1h"}"#).await;
    let version = format!("/api/v1/modules/misbehave/versions/{}", module.version);
    // when its module or version is to be deleted
    // then that is refused
    api.delete("/api/v1/modules/misbehave").await.problem(409, "module-in-use");
    api.delete(&version).await.problem(409, "module-in-use");
    // but not once the job has ended
    api.post(&format!("/api/v1/jobs/{id}/cancel"), "").await;
    assert_eq!(api.delete("/api/v1/modules/misbehave").await.status, StatusCode::NO_CONTENT);
    api.get("/api/v1/modules/misbehave").await.problem(404, "no-such-module");
    api.delete("/api/v1/modules/misbehave").await.problem(404, "no-such-module");
    // and the job still says what it was
    assert_eq!(api.get(&format!("/api/v1/jobs/{id}")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn the_current_version_can_be_chosen() {
    let api = Api::start().await;
    let module = api.platform.push("misbehave").await;
    let activate = |version: &str| format!("/api/v1/modules/misbehave/versions/{version}/activate");
    let reply = api.post(&activate(module.version.as_str()), "").await;
    assert_eq!(reply.json::<ModuleDetail>().current, Some(module.version));
    api.post(&activate("none"), "").await.problem(404, "no-such-version");
    api.delete("/api/v1/modules/misbehave/versions/none").await.problem(404, "no-such-version");
}
