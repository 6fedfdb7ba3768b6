//! Children that say what a test wants them to.

use super::Case;
use cofferdam_sandbox::apart::{Apart, ApartRunning, ApartSettings};
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;

/// The script. Linked to rather than written: a file that is open for writing, in a process that
/// another test is about to start, cannot be executed.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/executable/apart/fake_child.sh");

/// A child that says something and then runs a line of shell.
pub(super) struct Fake {
    folder: TempDir,
}

impl Fake {
    pub(super) fn new(says: &[u8], then: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(SCRIPT, folder.path().join("child")).unwrap();
        std::fs::write(folder.path().join("says"), says).unwrap();
        std::fs::write(folder.path().join("then"), then).unwrap();
        Self { folder }
    }

    /// A child that is given the attempt, and says no more.
    pub(super) fn silent() -> Self {
        Self::new(&started(&[]), "exec /bin/sleep 1000")
    }

    pub(super) async fn run(&self, case: &Case) -> ApartRunning {
        super::run(&self.apart(1), b"a component".to_vec(), case.attempt()).await
    }

    /// So many of its kind at once.
    pub(super) fn apart(&self, processes: usize) -> Apart {
        let child = self.folder.path().join("child");
        Apart::new(child, ApartSettings { processes, ..ApartSettings::default() })
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// A frame.
pub(super) fn frame(message: &Value, body: &[u8]) -> Vec<u8> {
    let header = message.to_string();
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap().to_le_bytes();
    [&length(header.as_bytes()), &length(body), header.as_bytes(), body].concat()
}

/// A child's first word.
pub(super) fn hello(version: &str) -> Vec<u8> {
    frame(&json!({ "hello": { "version": version } }), b"")
}

/// What our own child says until it has been given its attempt.
pub(super) fn started(next: &[Vec<u8>]) -> Vec<u8> {
    let version = concat!("1/", env!("CARGO_PKG_VERSION"));
    let ready = frame(&json!("ready"), b"");
    [hello(version), ready, next.concat()].concat()
}

/// The end of an attempt, as a child claims it.
pub(super) fn ended(class: &str) -> Vec<u8> {
    let failure = json!({
        "class": class, "code": "mine", "message": "", "backtrace": "", "advice": "default"
    });
    frame(&json!({ "ended": { "failure": failure, "usage": usage() } }), b"")
}

/// A completed attempt, as a child claims it.
pub(super) fn completed(output: &[u8]) -> Vec<u8> {
    frame(&json!({ "ended": { "failure": null, "usage": usage() } }), output)
}

fn usage() -> Value {
    json!({
        "fuel": u64::MAX, "cpu_micros": u64::MAX, "wall_micros": u64::MAX,
        "peak_memory_bytes": u64::MAX, "log_bytes": u64::MAX, "output_bytes": u64::MAX
    })
}
