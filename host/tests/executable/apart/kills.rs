//! Ending attempts apart from outside, and their processes with them.

use super::{Case, LATE, PATIENCE, failure, finish};
use cofferdam_core::class::FailureClass;
use cofferdam_core::limits::Limits;
use cofferdam_sandbox::KillReason;
use cofferdam_sandbox::apart::ApartRunning;
use cofferdam_testkit::wait_for;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A guest that logs for ever, so that it can be seen to run.
fn chatterbox() -> Case {
    let limits =
        Limits { log_flood_bytes: u64::MAX, log_flood_lines: u64::MAX, ..Limits::default() };
    Case::of("flood-log").with(limits)
}

async fn seen_to_run(case: &Case) -> ApartRunning {
    let running = case.start().await;
    wait_for("the guest to log", PATIENCE, async || {
        if case.host.log().is_empty() { Err("it has not".to_owned()) } else { Ok(()) }
    })
    .await;
    running
}

fn is_there(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[tokio::test]
async fn each_reason_ends_a_guest_that_runs() {
    for (reason, class, code) in [
        (KillReason::Cancelled, FailureClass::Cancelled, "cancelled"),
        (KillReason::LeaseLost, FailureClass::Lost, "lease-lost"),
        (KillReason::Shutdown, FailureClass::Released, "shutdown"),
    ] {
        // Given a guest that runs
        let running = seen_to_run(&chatterbox()).await;
        let pid = running.pid().unwrap();
        // when it is killed, and killed again for another reason
        let killed = Instant::now();
        running.reins.kill(reason);
        running.reins.kill(KillReason::Cancelled);
        // then it ends at once, for the first reason, and its process is gone.
        failure(finish(running).await, class, code);
        assert!(killed.elapsed() < LATE, "{:?}", killed.elapsed());
        assert!(!is_there(pid));
    }
}

#[tokio::test]
async fn an_attempt_ends_while_its_component_is_compiled() {
    // Given an attempt that has just been started
    let case = Case::of("echo");
    let running = case.start().await;
    // when it is killed
    let killed = Instant::now();
    running.reins.kill(KillReason::Cancelled);
    // then nobody waits for the compiler.
    failure(finish(running).await, FailureClass::Cancelled, "cancelled");
    assert!(killed.elapsed() < LATE, "{:?}", killed.elapsed());
}

#[tokio::test]
async fn an_attempt_that_nobody_waits_for_ends() {
    let running = seen_to_run(&chatterbox()).await;
    let pid = running.pid().unwrap();
    drop(running);
    wait_for("the process to end", PATIENCE, async || {
        if is_there(pid) { Err("it is there".to_owned()) } else { Ok(()) }
    })
    .await;
}

/// S74: the part of it that the worker sees. The process dies, nobody else does, and the job's
/// history says how.
#[tokio::test]
async fn a_guest_that_kills_its_process_is_lost_alone() {
    // Given a guest that runs
    let case = chatterbox();
    let running = seen_to_run(&case).await;
    // when its process is ended from outside, as the kernel does when there is no memory left
    let pid = running.pid().unwrap().to_string();
    assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
    // then the attempt is lost, and it says how.
    let outcome = finish(running).await;
    assert!(outcome.usage.wall_micros > 0);
    let failed = failure(outcome, FailureClass::Lost, "process_died");
    assert!(failed.message.contains("was ended by signal 9 (SIGKILL)"), "{}", failed.message);
}

#[tokio::test]
async fn a_guest_that_runs_is_within_reach() {
    // Given a guest that runs under a lease
    let case = Case { lease: Some(PATIENCE), ..chatterbox() };
    let running = seen_to_run(&case).await;
    // then its process pulses,
    let mut longest = Duration::ZERO;
    wait_for("a pulse", PATIENCE, async || {
        let stuck = running.reins.stuck_for();
        let pulsed = stuck < longest;
        longest = longest.max(stuck);
        if pulsed { Ok(()) } else { Err(format!("{stuck:?} without one")) }
    })
    .await;
    // and it bears being told of a renewal.
    running.reins.renew_lease(Instant::now() + 2 * PATIENCE);
    running.reins.kill(KillReason::LeaseLost);
    failure(finish(running).await, FailureClass::Lost, "lease-lost");
}
