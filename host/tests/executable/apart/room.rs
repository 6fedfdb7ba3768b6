//! How many processes there are at once, and that each place comes back.

use super::fake::Fake;
use super::{Case, PATIENCE, finish};
use cofferdam_sandbox::KillReason;
use cofferdam_sandbox::apart::{Apart, ApartSettings, Room};
use cofferdam_testkit::wait_for;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// The room that there is now, without waiting for any.
async fn room(apart: &Apart) -> Option<Room> {
    tokio::time::timeout(Duration::ZERO, apart.room()).await.ok()
}

/// Waits for room.
async fn room_again(apart: &Apart) -> Room {
    tokio::time::timeout(PATIENCE, apart.room()).await.unwrap()
}

#[tokio::test]
async fn no_more_processes_are_there_than_may_be() {
    // Given two attempts where there may be two
    let fake = Fake::silent();
    let apart = fake.apart(2);
    let case = Case::of("echo");
    let start = async || apart.run(room_again(&apart).await, Vec::new(), case.attempt());
    let (first, second) = (start().await, start().await);
    // then there is no room for a third one
    assert!(room(&apart).await.is_none());
    // until one of them has ended, however that came about: it was killed,
    first.reins.kill(KillReason::Cancelled);
    finish(first).await;
    let third = start().await;
    assert!(room(&apart).await.is_none());
    // its process was,
    let pid =
        wait_for("the process", PATIENCE, async || second.pid().ok_or("none".to_owned())).await;
    let status = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
    assert!(status.unwrap().success());
    finish(second).await;
    let fourth = start().await;
    assert!(room(&apart).await.is_none());
    // or nobody waits for it any more.
    drop((third, fourth));
    let both = (room_again(&apart).await, room_again(&apart).await);
    assert!(room(&apart).await.is_none());
    drop(both);
}

#[tokio::test]
async fn a_process_that_never_was_takes_up_no_room() {
    let settings = ApartSettings { processes: 1, ..ApartSettings::default() };
    let apart = Apart::new(PathBuf::from("/nonexistent/cofferdam"), settings);
    for _ in 0..3 {
        let room = room_again(&apart).await;
        finish(apart.run(room, Vec::new(), Case::of("echo").attempt())).await;
    }
    // Nor does one that is not started after all, or a wait that is given up.
    let held = room_again(&apart).await;
    assert!(room(&apart).await.is_none());
    drop(held);
    assert!(room(&apart).await.is_some());
}
