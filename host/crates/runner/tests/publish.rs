//! What may become a version, and what is refused with nothing stored.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use cofferdam_core::hint::Hint;
use cofferdam_core::ids::TenantId;
use cofferdam_core::limits::MAX_COMPONENT;
use cofferdam_core::manifest::Manifest;
use cofferdam_core::module::{VersionName, World};
use cofferdam_core::name::ModuleName;
use cofferdam_core::state::JobState;
use cofferdam_runner::{ErrorKind, PublishError, PublishRequest, PublishedModule, SubmitError};
use cofferdam_testkit::components::{component, core_module};
use cofferdam_testkit::platform::{Platform, new_job, stop};

fn request(name: &str) -> PublishRequest {
    PublishRequest {
        name: Some(ModuleName::new(name).unwrap()),
        version: None,
        manifest: Manifest::default(),
        activate: true,
    }
}

async fn publish(
    platform: &Platform,
    bytes: Vec<u8>,
    request: PublishRequest,
) -> Result<PublishedModule, PublishError> {
    platform.publisher.publish(TenantId::DEFAULT, bytes, request).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_describes_its_kinds_when_it_is_published() {
    let platform = Platform::start().await;
    let published = platform.push("misbehave").await;
    assert!(published.created && published.active);
    assert_eq!(published.world, World::Handler);
    assert_eq!(published.version.as_str(), "1");
    let spin = published.kinds.iter().find(|kind| kind.name.as_str() == "spin").unwrap();
    assert_eq!(spin.deadline, Some(std::time::Duration::from_secs(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_bytes_again_are_the_same_version() {
    let platform = Platform::start().await;
    let first = platform.push("markdown").await;
    let again = platform.push("markdown").await;
    assert!(!again.created);
    assert_eq!(again.version, first.version);
    assert_eq!(again.digest, first.digest);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_never_means_two_components() {
    let platform = Platform::start().await;
    let fixed =
        || PublishRequest { version: Some(VersionName::new("1.0.0").unwrap()), ..request("docs") };
    publish(&platform, component("markdown"), fixed()).await.unwrap();

    let error = publish(&platform, component("thumbnail"), fixed()).await.unwrap_err();
    assert_eq!(error.code(), "version-conflict");
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.hint().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_component_is_refused_and_nothing_is_stored() {
    let platform = Platform::start().await;
    let truncated = {
        let mut bytes = component("markdown");
        bytes.truncate(bytes.len() / 2);
        bytes
    };
    // An empty core module: valid WebAssembly that says nothing of the component it should be.
    let core = b"\0asm\x01\0\0\0".to_vec();
    for (what, bytes) in [
        ("nothing", Vec::new()),
        ("a text", b"#!/bin/sh\necho hello\n".to_vec()),
        ("a core module", core),
        ("half a component", truncated),
    ] {
        let error = publish(&platform, bytes, request("broken")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{what}: {error}");
        assert!(error.hint().is_some(), "{what}: {error} has no hint");
    }
    let size = usize::try_from(MAX_COMPONENT).unwrap() + 1;
    let error = publish(&platform, vec![0; size], request("huge")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);

    assert_eq!(platform.db.count("modules").await, 0);
    assert_eq!(platform.db.count("blobs").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_may_only_speak_of_kinds_that_there_are() {
    let platform = Platform::start().await;
    let manifest: Manifest =
        serde_json::from_str(r#"{"kinds": {"resize": {"max_attempts": 2}}}"#).unwrap();
    let error =
        publish(&platform, component("markdown"), PublishRequest { manifest, ..request("docs") })
            .await
            .unwrap_err();
    assert_eq!(error.code(), "unknown-kind");
    assert_eq!(platform.db.count("modules").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_manifest_sets_queue_and_attempts() {
    let platform = Platform::start().await;
    let manifest: Manifest =
        serde_json::from_str(r#"{"kinds": {"error": {"max_attempts": 1, "queue": "slow-lane"}}}"#)
            .unwrap();
    platform.publish("misbehave", component("misbehave"), manifest).await;
    let worker = platform.worker(Platform::quick()).await;

    let job = platform.ended(platform.submit("misbehave/error", "null").await).await;
    assert_eq!(job.state, JobState::Dead);
    assert_eq!(job.errors.len(), 1);
    assert_eq!(job.queue.as_str(), "slow-lane");
    stop(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_cannot_be_right_are_refused_whole() {
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let submit = async |jobs| platform.submitter.submit(TenantId::DEFAULT, jobs).await;
    let good = || new_job("misbehave/echo", "1");

    let unknown = submit(vec![good(), new_job("misbehave/none", "1")]).await.unwrap_err();
    assert!(matches!(unknown, SubmitError::UnknownKind { .. }), "{unknown}");
    let missing = submit(vec![good(), new_job("nobody", "1")]).await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    let needed = submit(vec![new_job("misbehave", "1")]).await.unwrap_err();
    assert_eq!(needed.code(), "kind-needed");
    let shape = submit(vec![good(), new_job("misbehave/slow", r#"{"ms": -1}"#)]).await.unwrap_err();
    assert_eq!(shape.code(), "payload-mismatch");
    assert!(shape.to_string().contains("/ms"), "{shape}");
    let large = submit(vec![new_job("misbehave/echo", vec![b'x'; 64 << 20])]).await.unwrap_err();
    assert_eq!(large.kind(), ErrorKind::TooLarge);
    assert_eq!(submit(Vec::new()).await.unwrap_err().code(), "no-jobs");

    assert_eq!(platform.db.count("jobs").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn any_byte_may_be_in_a_payload() {
    let platform = Platform::start().await;
    platform.push("misbehave").await;
    let worker = platform.worker(Platform::quick()).await;
    let payload: Vec<u8> = (0..=255).collect();
    let id = platform.submit("misbehave/echo", payload.clone()).await;
    assert_eq!(platform.ended(id).await.state, JobState::Completed);
    assert_eq!(platform.output(id).await, payload);
    stop(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ordinary_program_is_a_job() {
    let platform = Platform::start().await;
    let published = platform.push("wordcount").await;
    assert_eq!(published.world, World::Command);
    let worker = platform.worker(Platform::quick()).await;

    let mut job = new_job("wordcount", "the cat and the dog and the bird");
    job.options.args = vec!["--top".to_owned(), "1".to_owned()];
    let id = platform.submit_job(job).await;
    let ended = platform.ended(id).await;
    assert_eq!(ended.state, JobState::Completed, "{:?}", ended.errors);
    let output: serde_json::Value = serde_json::from_slice(&platform.output(id).await).unwrap();
    assert_eq!(output["words"], 8, "{output}");

    // A program that says that its data is bad is not run again.
    let bad = platform.ended(platform.submit("wordcount", vec![0xff, 0xfe]).await).await;
    assert_eq!(bad.state, JobState::Failed, "{:?}", bad.errors);
    assert_eq!(bad.errors.len(), 1);
    stop(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_core_module_that_says_what_it_is_becomes_a_component() {
    // Given the same handler, built for the target without WASI,
    let platform = Platform::start().await;
    let module = core_module("markdown");
    let published = platform.publish("markdown", module, Manifest::default()).await;

    // then it imports nothing but our own interfaces, and works.
    let ours = |import: &String| import.starts_with("cofferdam:job/");
    assert!(published.imports.iter().all(ours), "{:?}", published.imports);
    let worker = platform.worker(Platform::quick()).await;
    let id = platform.submit("markdown", "*hello*").await;
    assert_eq!(platform.ended(id).await.state, JobState::Completed);
    assert_eq!(platform.output(id).await, b"<p><em>hello</em></p>\n");
    stop(worker).await;
}

/// What a component imports is what it may ask for: people read it.
#[tokio::test(flavor = "multi_thread")]
async fn a_handler_imports_only_the_interfaces_that_it_calls() {
    let platform = Platform::start().await;
    // Given a handler that writes to its log, and does nothing else with its context,
    let published = platform.push("markdown").await;
    let imports = |name: &str| published.imports.iter().any(|import| import.contains(name));
    // then it asks for that alone.
    assert!(imports("cofferdam:job/log@"), "{:?}", published.imports);
    for name in ["control", "jobs", "secrets"] {
        assert!(!imports(&format!("cofferdam:job/{name}@")), "{:?}", published.imports);
    }
}
