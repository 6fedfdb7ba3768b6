//! Asking components for their kinds.

use crate::support::{
    Guest, Recorder, attempt, attempt_for, command, finish, output, prepare, sandbox, sandbox_with,
    until,
};
use cofferdam_core::class::FailureClass;
use cofferdam_core::module::{KindInfo, World};
use cofferdam_sandbox::{Pooling, Reject, SandboxSettings};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::task::JoinSet;

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
    // It costs fuel and no time, so that the budget is used up before the clock has run out on a
    // machine that does much else.
    let costly = "(drop (i32.const 0))".repeat(1_000);
    for (body, class) in [
        ("(unreachable)", FailureClass::Trap),
        (&format!("(loop $l {costly} (br $l)) (unreachable)"), FailureClass::Fuel),
        ("(drop (memory.grow (i32.const 2000))) (unreachable)", FailureClass::Memory),
    ] {
        match described_as(body, "").await {
            Err(Reject::Describe(failure)) => assert_eq!(failure.class, class),
            other => panic!("{body}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn many_that_describe_themselves_take_turns_and_no_slot_of_a_job() {
    // Given a pool for one job, and a component that takes many ticks to describe itself
    let settings = SandboxSettings {
        slots: 1,
        threads: 1,
        pooling: Pooling::Required,
        ..SandboxSettings::default()
    };
    let sandbox = sandbox_with(settings);
    let slow = Guest {
        describe: &format!("{} (call $dawdle)", echoes(1)),
        items: "(func $dawdle (local $i i32)
            (loop $l (br_if $l (i32.lt_u
                (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 30000000)))))",
        ..Guest::default()
    };
    let slow = prepare(&sandbox, &slow.component());
    let job = prepare(&sandbox, &Guest::default().component());
    // when many copies of it are asked at once
    let mut asked = JoinSet::new();
    for _ in 0..16 {
        let (sandbox, slow) = (sandbox.clone(), slow.clone());
        asked.spawn(async move { sandbox.describe(&slow).await });
    }
    until(|| sandbox.status().running > 0).await;
    // then a job finds its slot free meanwhile,
    assert_eq!(output(finish(sandbox.run(&job, attempt(b"hello")).outcome()).await), b"hello");
    assert!(sandbox.status().running > 0, "all of them were done before the job");
    // and all of them are heard.
    while let Some(described) = asked.join_next().await {
        assert_eq!(described.unwrap().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_component_that_found_no_room_is_not_refused_for_good() {
    // Given a pool that more jobs were started in than it was made for
    let settings = SandboxSettings {
        slots: 1,
        threads: 1,
        pooling: Pooling::Required,
        ..SandboxSettings::default()
    };
    let sandbox = sandbox_with(settings);
    let waiter = Guest {
        imports: r#"(import "cofferdam:job/control@0.1.0" "checkpoint"
            (func $checkpoint (param i32 i32 i32)))"#,
        handle: "(call $checkpoint (i32.const 0) (i32.const 0) (i32.const 256)) (unreachable)",
        ..Guest::default()
    };
    let prepared = prepare(&sandbox, &waiter.component());
    let host = Arc::new(Recorder::default());
    host.stuck.store(true, Ordering::SeqCst);
    let waiting: Vec<_> =
        (0..20).map(|_| sandbox.run(&prepared, attempt_for(&host, b""))).collect();
    // when a component is to describe itself, then it is told to come again,
    let refused = sandbox.describe(&prepared).await;
    assert!(
        matches!(&refused, Err(busy @ Reject::Busy(_)) if busy.code() == "busy"),
        "{refused:?}"
    );
    // and is heard once there is room.
    drop(waiting);
    until(|| sandbox.status().running == 0).await;
    assert_eq!(sandbox.describe(&prepared).await.unwrap().len(), 1);
}
