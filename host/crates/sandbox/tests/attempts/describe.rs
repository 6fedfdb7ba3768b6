//! Asking components for their kinds.

use crate::support::{Guest, command, prepare, sandbox};
use cofferdam_core::class::FailureClass;
use cofferdam_core::module::{KindInfo, World};
use cofferdam_sandbox::Reject;

async fn describe(component: &[u8]) -> Result<Vec<KindInfo>, Reject> {
    let sandbox = sandbox(1);
    let prepared = prepare(&sandbox, component);
    sandbox.describe(&prepared).await
}

async fn described_as(describe_body: &str, items: &str) -> Result<Vec<KindInfo>, Reject> {
    describe(&Guest { describe: describe_body, items, ..Guest::default() }.component()).await
}

#[tokio::test]
async fn a_handler_describes_its_kinds() {
    let kinds = describe(&Guest::default().component()).await.unwrap();
    assert_eq!(kinds.len(), 1);
    assert_eq!(kinds[0].name.as_str(), "echo");
    assert_eq!(kinds[0].description, "Does nothing.");
    assert_eq!(kinds[0].input_schema, Some(serde_json::json!({})));
    assert_eq!(kinds[0].deadline, None);
}

#[tokio::test]
async fn a_command_has_one_kind() {
    let sandbox = sandbox(1);
    let prepared = prepare(&sandbox, &command("", "(unreachable)"));
    assert_eq!(prepared.world(), World::Command);
    let kinds = sandbox.describe(&prepared).await.unwrap();
    assert_eq!(kinds.len(), 1);
    assert_eq!(kinds[0].name.as_str(), "run");
}

/// Describes so many kinds called `echo`.
fn echoes(count: usize) -> String {
    format!(
        "(local $i i32) (local $at i32)
         (local.set $at (i32.const 4096))
         (loop $l
            (i32.store (local.get $at) (i32.const 1024))
            (i32.store offset=4 (local.get $at) (i32.const 4))
            (local.set $at (i32.add (local.get $at) (i32.const 88)))
            (br_if $l (i32.lt_u
                (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const {count}))))
         (i32.store (i32.const 256) (i32.const 4096))
         (i32.store (i32.const 260) (i32.const {count}))
         (i32.const 256)"
    )
}

#[tokio::test]
async fn kinds_that_cannot_be_are_refused() {
    let twice = described_as(&echoes(2), "").await;
    assert!(matches!(twice, Err(Reject::DuplicateKind { kind }) if kind == "echo"));

    let many = described_as(&echoes(257), "").await;
    assert!(matches!(many, Err(Reject::TooManyKinds { count: 257 })), "{many:?}");

    let none = described_as("(i64.store (i32.const 256) (i64.const 0)) (i32.const 256)", "").await;
    assert!(matches!(none, Err(Reject::NoKinds)), "{none:?}");

    let renamed = described_as(&echoes(1), r#"(data (i32.const 1024) "Echo")"#).await;
    assert!(matches!(renamed, Err(Reject::BadKind { kind, .. }) if kind == "Echo"));
}

#[tokio::test]
async fn a_component_that_fails_to_describe_itself_says_how() {
    for (body, class) in [
        ("(unreachable)", FailureClass::Trap),
        ("(loop $l (br $l)) (unreachable)", FailureClass::Fuel),
        ("(drop (memory.grow (i32.const 2000))) (unreachable)", FailureClass::Memory),
    ] {
        match described_as(body, "").await {
            Err(Reject::Describe(failure)) => assert_eq!(failure.class, class),
            other => panic!("{body}: {other:?}"),
        }
    }
}
