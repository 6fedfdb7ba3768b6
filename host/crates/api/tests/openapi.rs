//! The OpenAPI document is a snapshot, so that a change to the API is seen in review.

use std::fs;
use std::path::Path;

/// The committed document, for clients and generators.
const SNAPSHOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/openapi.json");

#[test]
fn the_committed_document_is_the_one_that_the_routes_make() {
    // given the document as the routes make it
    let mut made = cofferdam_api::openapi().to_pretty_json().expect("the document is JSON");
    made.push('\n');
    let path = Path::new(SNAPSHOT);
    #[expect(clippy::disallowed_methods, reason = "says that the snapshot is to be rewritten")]
    if std::env::var("UPDATE_SNAPSHOTS").is_ok_and(|value| value == "1") {
        fs::write(path, &made).expect("the snapshot can be written");
    }
    // when it is compared with the committed one
    let committed = fs::read_to_string(path).unwrap_or_default();
    // then they are the same
    let first_difference = made.lines().zip(committed.lines()).find(|(a, b)| a != b);
    assert!(
        made == committed,
        "docs/openapi.json is out of date from {first_difference:?} on: \
         run `UPDATE_SNAPSHOTS=1 cargo test -p cofferdam-api --test openapi` and commit it"
    );
}

#[test]
fn the_document_is_of_the_promised_version_and_closed() {
    let document: serde_json::Value =
        serde_json::from_str(&cofferdam_api::openapi().to_json().unwrap()).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));

    // Every operation has a name of its own, for whoever generates a client.
    let mut names: Vec<&str> = document["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|item| item.as_object().unwrap().values())
        .map(|operation| operation["operationId"].as_str().unwrap())
        .collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "two operations share a name: {names:?}");

    // Every reference points to a schema that is there.
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let mut open = vec![&document];
    let mut references = 0;
    while let Some(value) = open.pop() {
        match value {
            serde_json::Value::Object(map) => {
                if let Some(target) = map.get("$ref").and_then(serde_json::Value::as_str) {
                    let name = target.strip_prefix("#/components/schemas/").unwrap();
                    assert!(schemas.contains_key(name), "{target} points nowhere");
                    references += 1;
                }
                open.extend(map.values());
            }
            serde_json::Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    assert!(references > 50, "the document hardly refers to anything");
}
