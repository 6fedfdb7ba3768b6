//! Real clusters: made, started, stopped, killed and opened again.
#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use cofferdam_localpg::{Cluster, ClusterError, ClusterSettings, remove};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A folder that every user may enter, as a data folder usually is.
fn folder() -> TempDir {
    folder_with(0o755)
}

fn folder_with(mode: u32) -> TempDir {
    let permissions = std::fs::Permissions::from_mode(mode);
    tempfile::Builder::new().permissions(permissions).tempdir().unwrap()
}

/// Nobody wants this data back after a crash of the machine, so nothing waits for the disk.
fn settings(data_dir: &Path) -> ClusterSettings {
    ClusterSettings { durable: false, ..ClusterSettings::new(data_dir) }
}

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < end, "waited 30 s for: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Where a running server says its socket is.
fn socket_dir(data_dir: &Path) -> PathBuf {
    let text = std::fs::read_to_string(data_dir.join("pgdata/postmaster.pid")).unwrap();
    PathBuf::from(text.lines().nth(4).unwrap())
}

fn signal(pid: i32, signal: Signal) {
    kill(Pid::from_raw(pid), signal).unwrap();
}

fn is_alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(") ").unwrap().1.starts_with('Z'))
}

/// Another process that has a cluster open, with a database `kept` in it.
fn owner(data_dir: &Path, arguments: &[&str]) -> (Child, i32) {
    // The test programs lie in `deps`, the examples beside it.
    let test = std::env::current_exe().unwrap();
    let program: PathBuf =
        test.parent().unwrap().parent().unwrap().join("examples/private_postgres");
    let mut child = Command::new(program)
        .arg(data_dir)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let pid = line.split(' ').next().unwrap().parse().unwrap();
    (child, pid)
}

#[test]
fn data_is_kept_between_starts() {
    let folder = folder();

    let first = Cluster::open(&settings(folder.path())).unwrap();
    assert!(first.create_database("jobs").unwrap(), "a new cluster has no such database");
    assert!(!first.create_database("jobs").unwrap(), "making it again changes nothing");
    let pid = first.pid();
    first.stop().unwrap();
    assert!(!is_alive(pid));

    let second = Cluster::open(&settings(folder.path())).unwrap();
    assert!(!second.adopted());
    assert!(!second.create_database("jobs").unwrap(), "the database is still there");
}

#[test]
fn a_dropped_cluster_is_stopped() {
    let folder = folder();
    let cluster = Cluster::open(&settings(folder.path())).unwrap();
    let pid = cluster.pid();
    let socket_dir = socket_dir(folder.path());
    assert!(socket_dir.exists());

    drop(cluster);

    assert!(!is_alive(pid));
    assert!(!socket_dir.exists());
}

#[test]
fn a_killed_server_is_started_again() {
    let folder = folder();
    let cluster = Cluster::open(&settings(folder.path())).unwrap();
    cluster.create_database("jobs").unwrap();
    signal(cluster.pid(), Signal::SIGKILL);
    drop(cluster);
    assert!(folder.path().join("pgdata/postmaster.pid").exists(), "nothing removed its file");

    let again = Cluster::open(&settings(folder.path())).unwrap();

    assert!(!again.adopted());
    assert!(!again.create_database("jobs").unwrap(), "the database is still there");
}

#[test]
fn a_stale_file_that_names_another_program_does_not_hinder_a_start() {
    // Given a server that was killed, and whose number a live program has now.
    let folder = folder();
    let cluster = Cluster::open(&settings(folder.path())).unwrap();
    let server = cluster.pid().to_string();
    signal(cluster.pid(), Signal::SIGKILL);
    drop(cluster);
    let file = folder.path().join("pgdata/postmaster.pid");
    let mut stranger = Command::new("sleep").arg("600").spawn().unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen(&server, &stranger.id().to_string(), 1)).unwrap();

    let again = Cluster::open(&settings(folder.path()));

    stranger.kill().unwrap();
    stranger.wait().unwrap();
    assert!(!again.unwrap().adopted());
}

#[test]
fn a_server_whose_owner_was_killed_is_adopted() {
    // Given an owner that was killed, and its server, which goes on.
    let folder = folder();
    let (mut owner, server) = owner(folder.path(), &[]);
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert!(is_alive(server));

    let cluster = Cluster::open(&settings(folder.path())).unwrap();

    assert!(cluster.adopted());
    assert_eq!(cluster.pid(), server);
    assert!(!cluster.create_database("kept").unwrap());
    cluster.stop().unwrap();
    assert!(!is_alive(server), "whoever adopts it stops it");
}

#[test]
fn a_server_that_lost_its_socket_is_replaced() {
    let folder = folder();
    let (mut owner, server) = owner(folder.path(), &[]);
    owner.kill().unwrap();
    owner.wait().unwrap();
    std::fs::remove_dir_all(socket_dir(folder.path())).unwrap();

    let cluster = Cluster::open(&settings(folder.path())).unwrap();

    assert!(!cluster.adopted());
    assert!(!is_alive(server));
    assert!(!cluster.create_database("kept").unwrap());
}

#[test]
fn a_cluster_has_one_owner_at_a_time() {
    let folder = folder();
    let first = Cluster::open(&settings(folder.path())).unwrap();

    let second = Cluster::open(&settings(folder.path())).unwrap_err();
    let removed = remove(folder.path()).unwrap_err();

    assert!(matches!(second, ClusterError::InUse { .. }));
    assert!(second.hint().is_some());
    assert!(matches!(removed, ClusterError::InUse { .. }));
    assert!(first.create_database("jobs").unwrap(), "the first is not disturbed");
}

#[test]
fn a_temporary_cluster_leaves_nothing_when_its_owner_is_killed() {
    let folder = folder();
    let data_dir = folder.path().join("run");
    let (mut owner, server) = owner(&data_dir, &["--temporary"]);
    let socket_dir = socket_dir(&data_dir);
    assert!(socket_dir.exists());

    owner.kill().unwrap();
    owner.wait().unwrap();

    wait_until("the server to end", || !is_alive(server));
    wait_until("its folders to go", || !data_dir.exists() && !socket_dir.exists());
}

#[test]
fn a_temporary_cluster_leaves_nothing_when_it_is_stopped() {
    let folder = folder();
    let data_dir = folder.path().join("run");
    let cluster = Cluster::open(&ClusterSettings::temporary(&data_dir)).unwrap();
    let pid = cluster.pid();

    cluster.stop().unwrap();

    assert!(!is_alive(pid));
    assert!(!data_dir.exists());
}

#[test]
fn removing_a_cluster_stops_what_was_left_running() {
    let folder = folder();
    let (mut owner, server) = owner(folder.path(), &[]);
    owner.kill().unwrap();
    owner.wait().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "not the cluster's").unwrap();

    remove(folder.path()).unwrap();

    assert!(!is_alive(server));
    assert!(!folder.path().join("pgdata").exists());
    assert!(folder.path().join("notes.txt").exists());
}

#[test]
fn a_server_that_refuses_to_start_says_why() {
    let folder = folder();
    let settings = settings(folder.path()).with("shared_buffers", "plenty");

    let error = Cluster::open(&settings).unwrap_err();

    assert!(matches!(&error, ClusterError::Ended { log, .. } if log.contains("shared_buffers")));
}

#[test]
fn a_half_made_data_folder_is_made_again() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("pgdata.new")).unwrap();
    std::fs::write(folder.path().join("pgdata.new/PG_VERSION"), "15\n").unwrap();

    let cluster = Cluster::open(&settings(folder.path())).unwrap();

    assert!(cluster.create_database("jobs").unwrap());
    assert!(!folder.path().join("pgdata.new").exists());
}

#[test]
fn the_server_never_runs_as_root_and_its_files_are_private() {
    let folder = folder();
    let cluster = Cluster::open(&settings(folder.path())).unwrap();

    let server = std::fs::metadata(format!("/proc/{}", cluster.pid())).unwrap();
    let data = std::fs::metadata(cluster.home().join("pgdata")).unwrap();

    assert_ne!(server.uid(), 0);
    assert_eq!(server.uid(), data.uid());
    assert_eq!(data.mode() & 0o777, 0o700);
    let home = std::fs::metadata(cluster.home()).unwrap();
    assert_eq!(home.uid(), geteuid().as_raw(), "only the data itself is handed over");
}

#[test]
fn root_keeps_the_data_elsewhere_when_its_user_cannot_enter_the_folder() {
    if !geteuid().is_root() {
        // Only root runs the server as somebody else, so nobody else can meet this.
        return;
    }
    let locked = folder_with(0o700);
    let data_dir = locked.path().join("data");

    let cluster = Cluster::open(&settings(&data_dir)).unwrap();
    let home = cluster.home().to_owned();
    assert!(cluster.moved());
    assert!(home.starts_with("/var/lib/cofferdam"));
    let note = std::fs::read_to_string(data_dir.join("location")).unwrap();
    assert_eq!(Path::new(note.trim()), home);
    cluster.create_database("jobs").unwrap();
    cluster.stop().unwrap();

    let again = Cluster::open(&settings(&data_dir)).unwrap();
    assert!(!again.create_database("jobs").unwrap(), "it is found again");
    again.stop().unwrap();

    remove(&data_dir).unwrap();
    assert!(!home.join("pgdata").exists());
    std::fs::remove_dir_all(home).unwrap();
}
