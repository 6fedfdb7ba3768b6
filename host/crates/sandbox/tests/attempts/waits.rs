//! Guests that put their jobs aside.

use crate::support::{Guest, Recorder, attempt_for, failure, output, run};
use cofferdam_core::class::FailureClass;
use cofferdam_core::outcome::RetryAdvice;
use cofferdam_core::wait::{CallbackToken, Resumption};
use cofferdam_sandbox::Attempt;
use std::sync::Arc;
use std::time::Duration;

const JOBS: &str = r#"
    (import "cofferdam:job/jobs@0.1.0" "create-callback" (func $create (param i32)))
    (import "cofferdam:job/jobs@0.1.0" "suspend-until"
        (func $suspend (param i32 i32 i32 i64 i32)))
    (import "cofferdam:job/jobs@0.1.0" "resumed" (func $resumed (param i32)))
    (import "cofferdam:job/log@0.1.0" "log" (func $log (param i32 i32 i32 i32 i32)))"#;

/// Makes a token, logs it, waits for it for a minute, and logs once more, which must not happen.
const WAIT: &str = "
    (call $create (i32.const 256))
    (call $log (i32.const 2) (i32.load (i32.const 256)) (i32.load (i32.const 260))
        (i32.const 0) (i32.const 0))
    (call $suspend (i32.const 1) (i32.load (i32.const 256)) (i32.load (i32.const 260))
        (i64.const 60000) (i32.const 288))
    (call $log (i32.const 2) (i32.const 1024) (i32.const 4) (i32.const 0) (i32.const 0))
    (call $ok_number (i64.const 0))";

/// S39: the attempt is over at the call, and its slot is free.
#[tokio::test]
async fn a_guest_that_waits_for_a_callback_ends_there() {
    // Given a guest that tells the world its token and waits,
    let host = Arc::new(Recorder::default());
    let guest = Guest { imports: JOBS, handle: WAIT, ..Guest::default() };
    // when it runs, then it runs no further than the wait,
    let ended =
        failure(run(&guest.component(), attempt_for(&host, b"")).await, FailureClass::Snoozed);
    let lines = host.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    // and what the host is to keep is the hash of the token that the guest has told.
    let token: CallbackToken = lines[0].message.parse().unwrap();
    assert_eq!(ended.advice, RetryAdvice::Wait(Duration::from_mins(1)));
    assert_eq!(ended.callback, Some(Box::new(token.hash())));
    assert!(!ended.message.contains(token.as_str()), "{}", ended.message);
}

#[tokio::test]
async fn each_token_is_another() {
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let host = Arc::new(Recorder::default());
        let guest = Guest { imports: JOBS, handle: WAIT, ..Guest::default() };
        failure(run(&guest.component(), attempt_for(&host, b"")).await, FailureClass::Snoozed);
        tokens.push(host.lines()[0].message.clone());
    }
    assert_ne!(tokens[0], tokens[1]);
}

#[tokio::test]
async fn what_cannot_be_waited_for_is_an_error_and_the_attempt_goes_on() {
    // Given guests that wait for a token of their own making, for no time at all, and for ever
    for (case, call) in [
        ("made up", "(i32.const 1) (i32.const 1024) (i32.const 4) (i64.const 60000)"),
        ("no time", "(i32.const 0) (i32.const 0) (i32.const 0) (i64.const 999)"),
        ("for ever", "(i32.const 0) (i32.const 0) (i32.const 0) (i64.const -1)"),
    ] {
        let host = Arc::new(Recorder::default());
        let handle = format!(
            "(call $suspend {call} (i32.const 256))
             (call $ok_number (i64.extend_i32_u (i32.load8_u (i32.const 256))))"
        );
        let guest = Guest { imports: JOBS, handle: &handle, ..Guest::default() };
        // when they do, then they are told that it cannot be.
        let answer = output(run(&guest.component(), attempt_for(&host, b"")).await);
        assert_eq!(answer, 1_u64.to_le_bytes(), "{case}");
    }
}

#[tokio::test]
async fn a_guest_is_told_how_its_wait_ended() {
    // Given a guest that returns what it was told: 0 for nothing, or 1, the case and the length
    let guest = Guest {
        imports: JOBS,
        handle: "(call $resumed (i32.const 256))
            (if (i32.eqz (i32.load8_u (i32.const 256)))
                (then (return (call $ok_number (i64.const 0)))))
            (if (i32.load8_u (i32.const 260))
                (then (return (call $ok_number (i64.const 1)))))
            (call $ok (i32.load (i32.const 264)) (i32.load (i32.const 268)))",
        ..Guest::default()
    }
    .component();
    let answer = async |resumed| {
        let host = Arc::new(Recorder::default());
        output(run(&guest, Attempt { resumed, ..attempt_for(&host, b"") }).await)
    };
    // when it never waited, waited in vain, and was called back, then it is told so.
    assert_eq!(answer(None).await, 0_u64.to_le_bytes());
    assert_eq!(answer(Some(Resumption::TimedOut)).await, 1_u64.to_le_bytes());
    assert_eq!(answer(Some(Resumption::CalledBack(b"yes".to_vec()))).await, b"yes");
}
