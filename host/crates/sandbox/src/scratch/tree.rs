//! Folders by descriptors: guests can nest them deeper than a path may be long.

use rustix::fs::{Dir, Mode, OFlags, openat};
use rustix::path::Arg;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// How folders are opened: no link is followed, should there be one.
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a folder that is in `parent`.
pub(super) fn open(parent: impl AsFd, name: impl Arg) -> io::Result<OwnedFd> {
    Ok(openat(parent, name, FOLDER, Mode::empty())?)
}

/// The names of all that is in a folder. They are all read before the folder is changed: a listing
/// that is read meanwhile may leave things out, or show them again.
pub(super) fn names(folder: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.as_bytes(), b"." | b"..") {
            names.push(name);
        }
    }
    Ok(names)
}
