//! What the child is as a process: what it was given, and whose life its own hangs on.

use super::{Case, PATIENCE};
use crate::support::{bare, finish, run};
use cofferdam_sandbox::KillReason;
use cofferdam_sandbox::apart::walls;
use cofferdam_testkit::wait_for;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Something about a process, from the kernel.
fn about(pid: u32, what: &str) -> Result<String, String> {
    fs::read_to_string(format!("/proc/{pid}/{what}")).map_err(|error| error.to_string())
}

/// Where its descriptors lead.
fn descriptors(pid: u32) -> Vec<PathBuf> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok()).collect()
}

/// Waits until it has confined itself.
async fn confined(pid: u32) {
    wait_for("the child to confine itself", PATIENCE, async || {
        let limits = about(pid, "limits")?;
        let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
        if files.split_whitespace().nth(3) == Some("512") { Ok(()) } else { Err(limits) }
    })
    .await;
}

/// Waits until it has ended. Whoever inherits an orphan may take its time to bury it.
async fn gone(pid: u32) {
    wait_for("the child to end", PATIENCE, async || match about(pid, "stat") {
        Ok(stat) if stat.contains(") Z ") => Ok(()),
        Ok(stat) => Err(stat),
        Err(_) => Ok(()),
    })
    .await;
}

/// A parent that is a shell, so that it can be killed, and its child. It leaves its child a
/// descriptor that is not closed by `exec`, and keeps the other ends of its pipes open.
fn shell() -> (Child, u32) {
    let script = "exec 6<&0 7</etc/passwd; \"$0\" attempt --parent $$ <&6 & echo $! >&2; wait";
    let mut shell = Command::new("/bin/sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_cofferdam")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(shell.stderr.take().unwrap()).read_line(&mut line).unwrap();
    (shell, line.trim().parse().unwrap())
}

#[tokio::test]
async fn a_child_dies_with_its_parent() {
    // Given a child whose pipes stay open whatever becomes of its parent
    let (mut parent, child) = shell();
    confined(child).await;
    // when its parent is killed
    parent.kill().unwrap();
    parent.wait().unwrap();
    // then it is gone.
    gone(child).await;
}

#[tokio::test]
async fn a_child_ends_when_its_input_does() {
    let (mut parent, child) = shell();
    confined(child).await;
    drop(parent.stdin.take());
    gone(child).await;
    assert!(parent.wait().unwrap().success());
}

#[tokio::test]
async fn a_child_keeps_nothing_that_was_left_to_it() {
    // Given a parent with an open file that is left to its children
    let (mut parent, child) = shell();
    confined(child).await;
    // then the child has closed it, and cannot gain rights.
    let open = descriptors(child);
    assert!(!open.iter().any(|path| path.starts_with("/etc")), "{open:?}");
    let status = about(child, "status").unwrap();
    assert!(
        status.lines().any(|line| line.split_whitespace().eq(["NoNewPrivs:", "1"])),
        "{status}"
    );
    drop(parent.stdin.take());
    parent.wait().unwrap();
}

#[tokio::test]
async fn a_child_has_no_environment_and_no_folder() {
    // Given an attempt apart
    let case = Case::of("sleep");
    let running = case.start().await;
    let pid =
        wait_for("the process", PATIENCE, async || running.pid().ok_or("none".to_owned())).await;
    confined(pid).await;
    // then its process knows nothing of ours.
    assert_eq!(about(pid, "environ").unwrap(), "");
    assert_eq!(fs::read_link(format!("/proc/{pid}/cwd")).unwrap(), PathBuf::from("/"));
    let ours = ["pipe:", "anon_inode:", "socket:", "/memfd:", "/proc/"];
    for path in descriptors(pid) {
        let path = path.to_string_lossy().into_owned();
        assert!(ours.iter().any(|kind| path.starts_with(kind)), "{path}");
    }
    running.reins.kill(KillReason::Cancelled);
    super::finish(running).await;
}

#[tokio::test]
async fn all_threads_of_a_child_are_shut_in_while_its_guest_runs() {
    if !walls().seccomp {
        eprintln!("NOT CHECKED: this kernel filters no system calls");
        return;
    }
    // Given an attempt apart
    let running = Case::of("sleep").start().await;
    let pid =
        wait_for("the process", PATIENCE, async || running.pid().ok_or("none".to_owned())).await;
    // then each of its threads has its system calls filtered before long.
    wait_for("the child to shut itself in", PATIENCE, async || {
        let threads =
            fs::read_dir(format!("/proc/{pid}/task")).map_err(|error| error.to_string())?;
        for thread in threads {
            let status = thread.map(|thread| thread.path().join("status"));
            let status = status.and_then(fs::read_to_string).map_err(|error| error.to_string())?;
            let mode = status.lines().find(|line| line.starts_with("Seccomp:")).unwrap_or_default();
            if !mode.split_whitespace().eq(["Seccomp:", "2"]) {
                return Err(status);
            }
        }
        Ok(())
    })
    .await;
    running.reins.kill(KillReason::Cancelled);
    super::finish(running).await;
}

#[tokio::test]
async fn a_child_gives_way_to_its_parent() {
    // Given an attempt apart
    let running = Case::of("sleep").start().await;
    let pid =
        wait_for("the process", PATIENCE, async || running.pid().ok_or("none".to_owned())).await;
    confined(pid).await;
    // then all of its threads are nicer than those of this process,
    let nice = |stat: &str| -> i64 {
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        fields.split_whitespace().nth(16).unwrap().parse().unwrap()
    };
    let ours = nice(&about(std::process::id(), "stat").unwrap());
    for thread in fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let stat = fs::read_to_string(thread.unwrap().path().join("stat")).unwrap();
        assert_eq!(nice(&stat), (ours + 3).min(19), "{stat}");
    }
    // and it is found by its name.
    assert_eq!(about(pid, "comm").unwrap(), "cofferdam\n");
    running.reins.kill(KillReason::Cancelled);
    super::finish(running).await;
}

#[test]
fn it_is_not_meant_for_people() {
    for args in ["attempt", "attempt --parent 1"] {
        run(args).exits(2).complains(&["not meant for people", "hint:", "cofferdam run"]);
    }
    let help = finish(bare().arg("--help")).exits(0).text();
    assert!(!help.contains("attempt on behalf"), "{help}");
}
