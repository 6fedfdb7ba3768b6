//! Children that are none of ours, or not any more: nothing that they do or leave undone hangs
//! the worker, and nothing that they say is believed that a guest could not have brought about.

use super::fake::{Fake, completed, ended, frame, hello, started};
use super::{Case, LATE, PATIENCE, Recorder, failure, finish};
use cofferdam_core::class::FailureClass;
use cofferdam_core::limits::{Limits, MAX_CHECKPOINT};
use cofferdam_core::outcome::End;
use cofferdam_sandbox::KillReason;
use cofferdam_sandbox::apart::{Apart, ApartSettings};
use cofferdam_testkit::wait_for;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[tokio::test]
async fn before_it_has_the_component_nothing_is_the_guest_s_fault() {
    for (says, then, why) in [
        (b"junk that is no frame".to_vec(), "exec /bin/sleep 1000", "broke the protocol"),
        (hello("another"), "exec /bin/sleep 1000", "another version"),
        (Vec::new(), "exec /bin/cat /dev/zero", "broke the protocol"),
        (Vec::new(), "echo no such file >&2; exit 3", "exit code 3"),
        (frame(&json!({ "unable": { "message": "no memory" } }), b""), "exit 0", "no memory"),
    ] {
        // Given an executable that is not the one that it should be
        let outcome = finish(Fake::new(&says, then).run(&Case::of("echo")).await).await;
        // then the job goes back as if it had not been claimed.
        let failed = failure(outcome, FailureClass::Released, "no-process");
        assert!(failed.message.contains(why), "{}", failed.message);
    }
    let nothing = Apart::new(PathBuf::from("/nonexistent/cofferdam"), ApartSettings::default());
    let outcome = finish(super::run(&nothing, Vec::new(), Case::of("echo").attempt()).await).await;
    failure(outcome, FailureClass::Released, "no-process");
}

#[tokio::test]
async fn a_child_that_was_taken_over_loses_its_attempt() {
    let text = "x".repeat(1 << 10);
    let line = |level: &str| {
        let line = json!({ "at_ms": 0, "level": level, "message": text });
        frame(&json!({ "log": line }), b"")
    };
    let report = || frame(&json!({ "progress": { "percent": 1, "note": "" } }), b"");
    let checkpoint = |bytes: usize| frame(&json!("checkpoint"), &vec![0; bytes]);
    let most = usize::try_from(MAX_CHECKPOINT).unwrap();
    let longest = Limits::default().output_bytes;
    let longest = usize::try_from(longest).unwrap();
    for (what, says) in [
        ("junk", vec![b"junk that is no frame".to_vec()]),
        ("lengths that nobody has", vec![vec![0xff; 8]]),
        ("an unknown message", vec![frame(&json!({ "root": "me" }), b"")]),
        ("a second greeting", vec![hello("1")]),
        ("bytes with a pulse", vec![frame(&json!("pulse"), b"x")]),
        ("a large checkpoint", vec![checkpoint(most + 1)]),
        ("two calls at once", vec![checkpoint(1), checkpoint(1)]),
        ("an output too large to read", vec![completed(&vec![0; longest + 1])]),
        ("the host's voice", vec![line("host"), line("host")]),
        ("reports without end", (0..2_000).map(|_| report()).collect()),
        ("that it was cancelled", vec![ended("cancelled")]),
        ("that it does not count", vec![ended("released")]),
        ("that its lease is lost", vec![ended("lost")]),
    ] {
        // Given a child that was given its attempt, and says what ours never do; its host takes
        // for ever to keep a checkpoint
        let host = Recorder { stuck: true, ..Recorder::default() };
        let case = Case { host: Arc::new(host), ..Case::of("echo") };
        let fake = Fake::new(&started(&says), "exec /bin/sleep 1000");
        let outcome = finish(fake.run(&case).await).await;
        // then it is killed, and that is what the job's history says.
        let failed = failure(outcome, FailureClass::Lost, "process_died");
        assert!(failed.message.contains("broke the protocol"), "{what}: {}", failed.message);
    }
}

#[tokio::test]
async fn a_log_is_bounded_whatever_the_child_sends() {
    // Given a child that sends lines without end
    let text = "x".repeat(1 << 10);
    let line = frame(&json!({ "log": { "at_ms": 0, "level": "info", "message": text } }), b"");
    let fake = Fake::new(&started(&[]), "while :; do /bin/cat \"$here/line\"; done");
    std::fs::write(fake.folder().join("line"), line.repeat(1_000)).unwrap();
    let limits = Limits { log_flood_bytes: 8 << 20, ..Limits::default() };
    let case = Case::of("echo").with(limits);
    // when it is listened to
    let outcome = finish(fake.run(&case).await).await;
    // then no more is kept than of any guest, and it ends.
    failure(outcome, FailureClass::Lost, "process_died");
    let kept: usize = case.host.log().iter().map(|(_, message)| message.len()).sum();
    assert!(kept as u64 <= case.limits.log_bytes, "{kept}");
}

#[tokio::test]
async fn what_a_guest_can_bring_about_is_believed_but_its_numbers_are_not() {
    let outcome =
        finish(Fake::new(&started(&[completed(b"out")]), "exit 0").run(&Case::of("echo")).await)
            .await;
    assert_eq!(outcome.end, End::Completed(b"out".to_vec()));
    assert_eq!(outcome.usage.fuel, Limits::default().fuel);
    assert!(outcome.usage.cpu_micros <= u64::try_from(PATIENCE.as_micros()).unwrap());
    assert_eq!(outcome.usage.output_bytes, 3);
}

#[tokio::test]
async fn a_process_that_ends_without_an_outcome_is_lost_with_its_last_words() {
    let then = "echo 'out of luck' >&2; exit 3";
    let outcome = finish(Fake::new(&started(&[]), then).run(&Case::of("echo")).await).await;
    let failed = failure(outcome, FailureClass::Lost, "process_died");
    assert_eq!(
        failed.message,
        "the process of the attempt ended with exit code 3; its standard error ended with: out of luck"
    );
}

#[tokio::test]
async fn a_standard_error_without_end_is_bounded() {
    let then = "/usr/bin/head -c 8000000 /dev/zero >&2; echo the end >&2; exit 3";
    let outcome = finish(Fake::new(&started(&[]), then).run(&Case::of("echo")).await).await;
    let failed = failure(outcome, FailureClass::Lost, "process_died");
    assert!(failed.message.ends_with("the end"), "{}", failed.message);
    assert!(failed.message.len() <= cofferdam_core::history::MAX_MESSAGE);
}

#[tokio::test]
async fn a_child_that_does_not_listen_is_killed() {
    // Given a child that neither reads nor says anything
    let fake = Fake::silent();
    let running = fake.run(&Case::of("echo")).await;
    // when it has been silent for a while, that is seen from outside,
    wait_for("it to be stuck", PATIENCE, async || {
        let stuck = running.reins.stuck_for();
        if stuck > Duration::from_secs(2) { Ok(()) } else { Err(format!("{stuck:?}")) }
    })
    .await;
    // and when it is killed, it is dead in time.
    let killed = Instant::now();
    running.reins.kill(KillReason::Cancelled);
    failure(finish(running).await, FailureClass::Cancelled, "cancelled");
    assert!(killed.elapsed() < LATE, "{:?}", killed.elapsed());
}

#[tokio::test]
async fn deadline_and_lease_hold_for_a_child_that_keeps_neither() {
    let second = Duration::from_secs(1);
    // Given a child that goes on for ever
    let late = Case::of("echo").hurried(second);
    let outcome = finish(Fake::silent().run(&late).await).await;
    // then its deadline ends it,
    let failed = failure(outcome, FailureClass::Deadline, "deadline");
    assert!(failed.message.contains("its deadline of 1s"), "{}", failed.message);
    // and its lease does,
    let leased = || Case { lease: Some(second), ..Case::of("echo") };
    let outcome = finish(Fake::silent().run(&leased()).await).await;
    failure(outcome, FailureClass::Lost, "lease-lost");
    // unless that is renewed.
    let case = leased().hurried(second);
    let fake = Fake::silent();
    let running = fake.run(&case).await;
    running.reins.renew_lease(Instant::now() + PATIENCE);
    failure(finish(running).await, FailureClass::Deadline, "deadline");
}
