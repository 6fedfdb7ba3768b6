//! Guests that use what WASI and their host offer in ways that nobody had in mind.

use crate::guests::SPIN;
use crate::host::Clerk;
use crate::neighbour::{Expected, TIME, answers, ends, outcomes};
use crate::support::{Guest, attempt, command, failure, hurried};
use cofferdam_core::class::FailureClass;
use cofferdam_sandbox::Attempt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What becomes of a guest whose host call is refused.
const fn refused(said: &str) -> Expected<'_> {
    (FailureClass::Trap, "host-call-failed", said)
}

/// A handler with these imports and this body must end so.
async fn call_ends(imports: &str, handle: &str, expected: Expected<'_>) {
    let guest = Guest { imports, handle, ..Guest::default() };
    ends(&guest.component(), || attempt(b""), expected).await;
}

/// A handler that calls one function of this type for ever must end at its deadline.
async fn repetition_ends(interface: &str, function: &str, of_type: &str, call: &str) {
    let imports = format!(r#"(import "{interface}" "{function}" (func $again {of_type}))"#);
    let handle = format!("(loop $l (global.set $top (i32.const 4096)) {call} (br $l)) {SPIN}");
    let guest = Guest { imports: &imports, handle: &handle, ..Guest::default() };
    let late = (FailureClass::Deadline, "deadline", "passed its deadline of 1s");
    ends(&guest.component(), || hurried(TIME), late).await;
}

#[tokio::test]
async fn a_guest_has_no_environment_but_its_own_and_no_folders() {
    // Given a guest that counts the variables, the arguments and the folders that it is given
    let guest = Guest {
        imports: r#"
            (import "wasi:cli/environment@0.2.0" "get-environment" (func $variables (param i32)))
            (import "wasi:cli/environment@0.2.0" "get-arguments" (func $arguments (param i32)))
            (import "wasi:filesystem/preopens@0.2.0" "get-directories"
                (func $folders (param i32)))"#,
        handle: "(call $variables (i32.const 256))
            (call $arguments (i32.const 264))
            (call $folders (i32.const 272))
            (i32.store8 (i32.const 280) (i32.load (i32.const 260)))
            (i32.store8 (i32.const 281) (i32.load (i32.const 268)))
            (i32.store8 (i32.const 282) (i32.load (i32.const 276)))
            (call $ok (i32.const 280) (i32.const 3))",
        ..Guest::default()
    };
    // when it is granted one variable, then that is all there is.
    let env = vec![("REGION".to_owned(), "eu".to_owned())];
    let attempt = || Attempt { env: env.clone(), ..attempt(b"") };
    answers(&guest.component(), attempt, &[1, 0, 0]).await;
}

#[tokio::test]
async fn no_path_leads_out_of_no_folder() {
    // Given a guest that opens a path in the folders that others would be given
    let imports = r#"(import "wasi:filesystem/types@0.2.0" "[method]descriptor.open-at"
        (func $open (param i32 i32 i32 i32 i32 i32 i32)))"#;
    for path in ["/proc/self/environ", "../../../../etc/passwd", "/", "..", "/dev/mem"] {
        for folder in [1, 3] {
            let items = format!(r#"(data (i32.const 3000) "{path}")"#);
            let handle = format!(
                "(call $open (i32.const {folder}) (i32.const 1) (i32.const 3000)
                    (i32.const {}) (i32.const 0) (i32.const 1) (i32.const 256))
                 (unreachable)",
                path.len()
            );
            let guest = Guest { imports, items: &items, handle: &handle, ..Guest::default() };
            // then there is no such folder.
            let nothing = refused("unknown handle index");
            ends(&guest.component(), || attempt(b""), nothing).await;
        }
    }
}

#[tokio::test]
async fn four_gigabytes_of_randomness_are_refused() {
    for (interface, function) in [
        ("wasi:random/random@0.2.0", "get-random-bytes"),
        ("wasi:random/insecure@0.2.0", "get-insecure-random-bytes"),
    ] {
        let imports =
            format!(r#"(import "{interface}" "{function}" (func $random (param i64 i32)))"#);
        let handle = "(call $random (i64.const 4294967296) (i32.const 256)) (unreachable)";
        call_ends(&imports, handle, refused("exceeds limit 65536")).await;
    }
}

#[tokio::test]
async fn random_numbers_for_ever_end_at_the_deadline() {
    let call = "(drop (call $again))";
    repetition_ends("wasi:random/random@0.2.0", "get-random-u64", "(result i64)", call).await;
}

#[tokio::test]
async fn random_bytes_for_ever_end_at_the_deadline() {
    let call = "(call $again (i64.const 50000) (i32.const 256))";
    let insecure = "wasi:random/insecure@0.2.0";
    repetition_ends(insecure, "get-insecure-random-bytes", "(param i64 i32)", call).await;
}

#[tokio::test]
async fn asking_for_the_time_for_ever_ends_at_the_deadline() {
    let call = "(drop (call $again))";
    repetition_ends("wasi:clocks/monotonic-clock@0.2.0", "now", "(result i64)", call).await;
}

#[tokio::test]
async fn making_callbacks_for_ever_ends_at_the_deadline() {
    let call = "(call $again (i32.const 256))";
    repetition_ends("cofferdam:job/jobs@0.1.0", "create-callback", "(param i32)", call).await;
}

#[tokio::test]
async fn a_handler_that_exits_has_not_succeeded() {
    let imports = r#"(import "wasi:cli/exit@0.2.0" "exit" (func $exit (param i32)))"#;
    let expected = (FailureClass::Error, "exit-0", "instead of returning from its call");
    call_ends(imports, "(call $exit (i32.const 0)) (unreachable)", expected).await;
}

#[tokio::test]
async fn an_exit_code_is_only_a_number() {
    // 137 is what a program gets that the system has killed: here it is the guest's own word.
    let program = command("", "(call $exit_with_code (i32.const 137)) (i32.const 0)");
    let expected = (FailureClass::Error, "exit-137", "ended with exit code 137");
    ends(&program, || attempt(b""), expected).await;
}

#[tokio::test]
async fn an_attempt_that_has_put_its_job_aside_cannot_complete_it_as_well() {
    // Given a guest that puts its job aside and returns an output all the same
    let imports = r#"(import "cofferdam:job/jobs@0.1.0" "suspend-until"
        (func $suspend (param i32 i32 i32 i64 i32)))"#;
    let twice = "(call $suspend (i32.const 0) (i32.const 0) (i32.const 0)
            (i64.const 60000) (i32.const 256))
        (call $ok_number (i64.const 1))";
    // then the first of the two ends is the end.
    let expected = (FailureClass::Snoozed, "suspended", "the job sleeps for 1m");
    call_ends(imports, twice, expected).await;
}

#[tokio::test]
async fn a_callback_that_others_could_guess_is_refused() {
    let imports = r#"(import "cofferdam:job/jobs@0.1.0" "suspend-until"
        (func $suspend (param i32 i32 i32 i64 i32)))"#;
    // Given a guest that wants to be called back with a token of its own making,
    let guest = Guest {
        imports,
        handle: "(call $suspend (i32.const 1) (i32.const 1024) (i32.const 4)
                (i64.const 60000) (i32.const 256))
            (call $ok_number (i64.extend_i32_u (i32.load8_u (i32.const 256))))",
        ..Guest::default()
    };
    // then it is told that it cannot be, and its job is not put aside.
    answers(&guest.component(), || attempt(b""), &1_u64.to_le_bytes()).await;
}

#[tokio::test]
async fn asking_for_more_time_for_ever_ends_at_the_cap() {
    // Given a guest that asks for all the time there is, again and again
    let guest = Guest {
        imports: r#"(import "cofferdam:job/control@0.1.0" "extend-deadline"
            (func $extend (param i64 i32)))"#,
        handle: "(loop $l
                (call $extend (i64.const -1) (i32.const 256))
                (br $l))
            (unreachable)",
        ..Guest::default()
    };
    let first = Duration::from_millis(300);
    let attempt = || {
        let clerk = Clerk { cap: Some(Instant::now() + TIME), ..Clerk::default() };
        Attempt { host: Arc::new(clerk), ..hurried(first) }
    };
    for outcome in outcomes(&guest.component(), attempt).await {
        // when it gets what the tenant's cap leaves, then it ends there.
        let lasted = Duration::from_micros(outcome.usage.wall_micros);
        assert!(lasted > first, "{lasted:?}");
        let failed = failure(outcome, FailureClass::Deadline);
        assert!(failed.message.contains("its extended deadline"), "{}", failed.message);
    }
}
