//! A disk that is small enough to be filled.

use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Write as _, stderr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// How much is written at once, in bytes: less and less, so that in the end nothing fits.
const CHUNKS: [usize; 3] = [1 << 20, 1 << 12, 1];

/// A file system of its own in memory, which is gone with this value, whatever the test did.
pub struct SmallDisk {
    folder: TempDir,
}

impl SmallDisk {
    /// Makes one of so many mebibytes, which other users may enter. The error says why this
    /// machine has none: only root may mount, and not everywhere.
    pub fn mount(mebibytes: usize) -> Result<Self, String> {
        let everyone = Permissions::from_mode(0o755);
        let folder = tempfile::Builder::new().permissions(everyone).tempdir();
        let folder = folder.expect("a folder can be made");
        let output = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m,mode=0755"), "tmpfs"])
            .arg(folder.path())
            .output()
            .map_err(|error| format!("`mount` does not start: {error}"))?;
        if output.status.success() {
            return Ok(Self { folder });
        }
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Leaves no room for a single byte.
    pub fn fill(&self) {
        let mut file = File::create(self.filler()).expect("there is room for a name");
        for chunk in CHUNKS {
            let bytes = vec![0; chunk];
            let full = loop {
                if let Err(error) = file.write_all(&bytes) {
                    break error;
                }
            };
            assert_eq!(full.kind(), ErrorKind::StorageFull, "{full}");
        }
    }

    /// Takes back what [`SmallDisk::fill`] did.
    pub fn free(&self) {
        // It may not have been filled.
        let _ = fs::remove_file(self.filler());
    }

    fn filler(&self) -> PathBuf {
        self.path().join("filler")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmount = |how: &[&str]| {
            let status = Command::new("umount").args(how).arg(self.folder.path()).status();
            status.is_ok_and(|status| status.success())
        };
        // Where somebody still has a file open, the name goes now and the rest with that file.
        if !unmount(&[]) && !unmount(&["--lazy"]) {
            say(&format!("{} is still mounted", self.path().display()));
        }
    }
}

/// Says that a test shows nothing on this machine, and why. Not by a macro: what those print is
/// only seen of tests that fail.
pub fn not_shown(what: &str, why: &str) {
    say(&format!("NOT SHOWN on this machine: {what}: {why}"));
}

fn say(line: &str) {
    // Nobody to tell is no reason to fail.
    let _ = writeln!(stderr(), "{line}");
}
