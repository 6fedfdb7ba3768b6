//! How much there is in a folder, and in what was removed from it and is still open.

use super::tree;
use rustix::fs::{AtFlags, FileType, Stat, fstat, statat};
use std::collections::HashSet;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What was found.
#[derive(Default)]
pub(super) struct Found {
    /// The lengths of all files together.
    pub(super) bytes: u64,
    /// Files and folders, without the one that was looked into.
    pub(super) files: u64,
    /// What has been counted: device and number.
    seen: HashSet<(u64, u64)>,
}

/// Measures a folder that nobody changes meanwhile, and what of `open` is not in it. Blocks. Only
/// one folder is open at a time, however deep they are nested.
pub(super) fn measure(top: &OwnedFd, open: &[Arc<File>]) -> io::Result<Found> {
    let mut found = Found::default();
    // A guest may have opened its own folder once more, which makes it no folder inside of itself.
    let itself = fstat(top)?;
    found.seen.insert((itself.st_dev, itself.st_ino));

    let mut folder = tree::open(top, c".")?;
    // Of each folder on the way to the present one: the folders in it that are still to be seen.
    let mut levels = vec![found.look_into(&folder)?];
    while let Some(level) = levels.last_mut() {
        if let Some(name) = level.pop() {
            folder = tree::open(&folder, &name)?;
            levels.push(found.look_into(&folder)?);
        } else {
            levels.pop();
            if !levels.is_empty() {
                folder = tree::open(&folder, c"..")?;
            }
        }
    }
    for file in open {
        found.count(&fstat(file)?);
    }
    Ok(found)
}

impl Found {
    /// Counts what is directly in a folder. Answers the names of the folders among it.
    fn look_into(&mut self, folder: &OwnedFd) -> io::Result<Vec<CString>> {
        let mut inside = Vec::new();
        for name in tree::names(folder)? {
            let stat = statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW)?;
            self.count(&stat);
            if is_folder(&stat) {
                inside.push(name);
            }
        }
        Ok(inside)
    }

    fn count(&mut self, stat: &Stat) {
        if !self.seen.insert((stat.st_dev, stat.st_ino)) {
            return;
        }
        self.files = self.files.saturating_add(1);
        if !is_folder(stat) {
            self.bytes = self.bytes.saturating_add(u64::try_from(stat.st_size).unwrap_or(0));
        }
    }
}

fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Mode, mkdirat};
    use std::fs;

    fn counted(top: &OwnedFd, open: &[Arc<File>]) -> (u64, u64) {
        let found = measure(top, open).unwrap();
        (found.bytes, found.files)
    }

    #[test]
    fn all_levels_count_and_the_top_does_not() {
        // Given files of known lengths on three levels, one of them a hole
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::create_dir(at("empty")).unwrap();
        fs::write(at("one"), [1; 10]).unwrap();
        fs::write(at("a/two"), [1; 200]).unwrap();
        File::create(at("a/b/hole")).unwrap().set_len(3_000).unwrap();
        // then all of them are found, and the folders as well.
        let top: OwnedFd = File::open(root.path()).unwrap().into();
        assert_eq!(counted(&top, &[]), (3_210, 6));
    }

    #[test]
    fn what_is_open_counts_once_whether_it_has_a_name_or_not() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::write(at("kept"), [1; 10]).unwrap();
        fs::write(at("removed"), [1; 200]).unwrap();
        fs::create_dir(at("folder")).unwrap();
        let top: OwnedFd = File::open(root.path()).unwrap().into();
        // Given everything open twice, the top as well,
        let names = ["kept", "removed", "folder", "."];
        let twice = || names.iter().map(|name| Arc::new(File::open(at(name)).unwrap()));
        let open: Vec<_> = twice().chain(twice()).collect();
        assert_eq!(counted(&top, &open), (210, 3));
        // when some of it is removed, then it counts as long as it is open.
        fs::remove_file(at("removed")).unwrap();
        fs::remove_dir(at("folder")).unwrap();
        assert_eq!(counted(&top, &open), (210, 3));
        assert_eq!(counted(&top, &[]), (10, 1));
    }

    #[test]
    fn folders_may_be_nested_deeper_than_a_path_is_long() {
        let root = tempfile::tempdir().unwrap();
        let top: OwnedFd = File::open(root.path()).unwrap().into();
        let name = "d".repeat(200);
        let mut folder = tree::open(&top, c".").unwrap();
        for _ in 0..100 {
            mkdirat(&folder, &name, Mode::RWXU).unwrap();
            folder = tree::open(&folder, &name).unwrap();
        }
        assert_eq!(counted(&top, &[]), (0, 100));
        crate::scratch::remover::remove(&top, name.as_ref()).unwrap();
        assert_eq!(counted(&top, &[]), (0, 0));
    }
}
