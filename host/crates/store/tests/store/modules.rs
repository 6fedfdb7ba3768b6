//! Modules and their versions.

use crate::support::{House, TENANT, completed, kind, module, version, version_name, worker};
use cofferdam_core::hint::Hint as _;
use cofferdam_core::limits::LimitWish;
use cofferdam_core::module::Digest;
use cofferdam_store::{JobFilter, NewVersion, Page, Resolved, StoreError};
use std::time::Duration;

async fn resolve(house: &House, reference: &str) -> Option<Resolved> {
    house.store.resolve(TENANT, &reference.parse().unwrap()).await.unwrap()
}

#[tokio::test]
async fn versions_without_a_name_are_counted_up() {
    let house = House::new().await;
    assert_eq!(house.images.version_name.as_str(), "1");
    let named = NewVersion { version: Some(version_name("1.4.0")), ..version("images", "named") };
    house.store.publish(&named).await.unwrap();
    let next = house.store.publish(&version("images", "another")).await.unwrap();
    assert_eq!(next.version_name.as_str(), "2");
    assert!(next.created && next.active);
    assert_eq!(next.module, house.images.module);
}

#[tokio::test(flavor = "multi_thread")]
async fn publishing_at_once_counts_without_gaps_or_clashes() {
    let house = House::new().await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..8 {
        let (store, new) = (house.store.clone(), version("fresh", &format!("bytes {number}")));
        tasks.spawn(async move { store.publish(&new).await.unwrap().version_name.to_string() });
    }
    let mut names = tasks.join_all().await;
    names.sort();
    assert_eq!(names, ["1", "2", "3", "4", "5", "6", "7", "8"]);
}

#[tokio::test]
async fn publishing_the_same_again_changes_nothing() {
    let house = House::new().await;
    let again = house.store.publish(&version("images", "the first component")).await.unwrap();
    assert!(!again.created && again.active);
    assert_eq!(again.version, house.images.version);

    // Another manifest makes it another version.
    let mut strict = version("images", "the first component");
    strict.manifest.limits =
        LimitWish { deadline: Some(Duration::from_secs(1)), ..LimitWish::default() };
    assert!(house.store.publish(&strict).await.unwrap().created);
    assert_eq!(house.db.count("blobs").await, 1, "the bytes are kept once");
}

#[tokio::test]
async fn a_version_never_becomes_another() {
    let house = House::new().await;
    let other = NewVersion {
        version: Some(version_name("1")),
        ..version("images", "not the first component")
    };

    let error = house.store.publish(&other).await.unwrap_err();

    assert!(matches!(&error, StoreError::VersionConflict { name, version }
        if name.as_str() == "images" && version.as_str() == "1"));
    assert!(error.hint().is_some() && !error.is_transient());
    assert_eq!(house.db.count("module_versions").await, 1);
    assert_eq!(house.db.count("blobs").await, 1);
}

#[tokio::test]
async fn a_reference_means_the_current_version_or_the_one_it_names() {
    let house = House::new().await;
    let quiet = NewVersion { activate: false, ..version("images", "second") };
    let second = house.store.publish(&quiet).await.unwrap();
    assert!(!second.active);

    assert_eq!(resolve(&house, "images").await.unwrap().version, house.images.version);
    let found = resolve(&house, "images@2").await.unwrap();
    assert_eq!(found.version, second.version);
    assert_eq!(found.digest, Digest::of(b"second"));
    let kinds: Vec<_> = found.kinds.iter().map(|(info, _)| info.name.as_str()).collect();
    assert_eq!(kinds, ["blur", "thumbnail"]);
    assert!(resolve(&house, "images@3").await.is_none());
    assert!(resolve(&house, "sounds").await.is_none());

    house.store.activate(TENANT, &module("images"), &version_name("2")).await.unwrap();
    assert_eq!(resolve(&house, "images").await.unwrap().version, second.version);
    let missing = house.store.activate(TENANT, &module("images"), &version_name("9")).await;
    assert!(matches!(missing, Err(StoreError::NoSuchVersion { .. })));
}

#[tokio::test]
async fn modules_can_be_looked_at() {
    let house = House::new().await;
    house.store.publish(&version("images", "second")).await.unwrap();
    house.store.publish(&version("sounds", "first")).await.unwrap();

    let all = house.store.modules(TENANT, None, 10).await.unwrap();
    let names: Vec<_> = all.iter().map(|module| (module.name.as_str(), module.versions)).collect();
    assert_eq!(names, [("images", 2), ("sounds", 1)]);
    assert_eq!(all[0].current, Some(version_name("2")));
    assert_eq!(all[0].kinds, [kind("blur"), kind("thumbnail")]);
    let rest = house.store.modules(TENANT, Some(&module("images")), 10).await.unwrap();
    assert_eq!(rest.len(), 1);

    let detail = house.store.module(TENANT, &module("images")).await.unwrap().unwrap();
    assert_eq!(detail.current().unwrap().name.as_str(), "2");
    assert_eq!(detail.version(&version_name("1")).unwrap().bytes, 19);
    assert!(house.store.module(TENANT, &module("none")).await.unwrap().is_none());

    let id = detail.versions[0].id;
    let info = house.store.kind_info(id, &kind("blur")).await.unwrap().unwrap();
    assert_eq!(info.description, "Does a blur.");
    assert!(house.store.kind_info(id, &kind("none")).await.unwrap().is_none());
    let bytes = house.store.component_bytes(Digest::of(b"second")).await.unwrap();
    assert_eq!(bytes.as_deref(), Some(&b"second"[..]));
}

#[tokio::test]
async fn a_version_that_jobs_need_is_not_deleted() {
    // Given a job that names a version, and one that takes the current one,
    let house = House::new().await;
    let second = house.store.publish(&version("images", "second")).await.unwrap();
    let mut pinned = house.job();
    pinned.version = Some(house.images.version);
    house.enqueue_all(&[pinned, house.job()]).await;
    let (images, first, current) = (module("images"), version_name("1"), version_name("2"));

    for version in [&first, &current] {
        let refused = house.store.delete_version(TENANT, &images, version).await.unwrap_err();
        assert!(matches!(&refused, StoreError::InUse { jobs, .. } if jobs == "1"), "{refused:?}");
    }
    assert!(house.store.delete_module(TENANT, &images).await.is_err());

    // when both have ended,
    let me = worker();
    for claimed in house.claim(me, 2).await {
        house.finish(me, claimed.key, completed()).await;
    }

    // then the versions go, with their bytes, and the history still names them.
    house.store.delete_version(TENANT, &images, &first).await.unwrap();
    assert_eq!(
        house.store.component_bytes(Digest::of(b"the first component")).await.unwrap(),
        None
    );
    assert!(resolve(&house, "images@1").await.is_none());
    assert_eq!(resolve(&house, "images").await.unwrap().version, second.version);
    house.store.delete_version(TENANT, &images, &current).await.unwrap();
    assert!(resolve(&house, "images").await.is_none(), "none is current");
    let page = Page { before: None, limit: 10 };
    let rows = house.store.list_jobs(TENANT, &JobFilter::default(), page).await.unwrap();
    assert!(rows.iter().all(|row| row.version.is_some()));
}

#[tokio::test]
async fn a_deleted_versions_name_stays_taken_and_the_same_bytes_bring_it_back() {
    let house = House::new().await;
    let (images, first) = (module("images"), version_name("1"));
    house.store.delete_version(TENANT, &images, &first).await.unwrap();

    let other = NewVersion { version: Some(first.clone()), ..version("images", "other") };
    assert!(matches!(house.store.publish(&other).await, Err(StoreError::VersionConflict { .. })));
    let same =
        NewVersion { version: Some(first.clone()), ..version("images", "the first component") };
    let back = house.store.publish(&same).await.unwrap();
    assert!(back.created && back.active);
    assert_eq!(back.version, house.images.version);
    assert!(
        house.store.component_bytes(Digest::of(b"the first component")).await.unwrap().is_some()
    );
}

#[tokio::test]
async fn bytes_that_another_module_has_are_kept_when_one_is_deleted() {
    let house = House::new().await;
    house.store.publish(&version("copy", "the first component")).await.unwrap();

    house.store.delete_module(TENANT, &module("images")).await.unwrap();

    assert!(resolve(&house, "images").await.is_none());
    assert!(
        house.store.component_bytes(Digest::of(b"the first component")).await.unwrap().is_some()
    );
    // The module's name is free again, for another module.
    let anew = house.store.publish(&version("images", "anew")).await.unwrap();
    assert_ne!(anew.module, house.images.module);
    assert_eq!(anew.version_name.as_str(), "1");
}

#[tokio::test]
async fn what_a_guest_describes_can_hold_any_text() {
    let house = House::new().await;
    let mut nasty = version("nasty", "nasty");
    nasty.kinds[0].0.description = "nul \0".to_owned();
    nasty.kinds[0].0.input_schema = Some(serde_json::json!({"title\0": "\0"}));
    let published = house.store.publish(&nasty).await.unwrap();
    let info = house.store.kind_info(published.version, &kind("thumbnail")).await.unwrap();
    assert_eq!(info.unwrap().description, "nul \u{fffd}");
    assert!(!house.store.publish(&nasty).await.unwrap().created);
}
