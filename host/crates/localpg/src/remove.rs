//! Removing a cluster and its data.

use crate::error::ClusterError;
use crate::place::Place;
use crate::{server, socket};
use std::io;
use std::path::Path;

/// Removes a cluster with everything in it. A server that an earlier process left running is
/// stopped first; one that a live process uses is an error. What is not the cluster's stays.
pub fn remove(data_dir: &Path) -> Result<(), ClusterError> {
    let Some(place) = Place::claim_existing(data_dir)? else { return Ok(()) };
    if let Some(mut server) = server::left_running(&place.pgdata()) {
        server.stop()?;
    }
    socket(&place)?;
    folder(&place.pgdata())?;
    folder(&place.unfinished())?;
    // The lock stays: a process that waits for it must not get one that others cannot see.
    for file in [place.log(), place.old_log(), place.note()] {
        gone(std::fs::remove_file(&file))
            .map_err(|source| ClusterError::file("remove", &file, source))?;
    }
    Ok(())
}

/// Removes the folders of a temporary cluster, the one that was asked for included.
pub(crate) fn whole(place: &Place) -> Result<(), ClusterError> {
    folder(&place.home)?;
    folder(&place.data_dir)
}

/// Removes the folder of the socket. It is the one that we make, whatever the server's files say:
/// we may be root, and they may have been written by whoever broke into the server.
pub(crate) fn socket(place: &Place) -> Result<(), ClusterError> {
    folder(&socket::folder(&place.pgdata()))
}

/// Removes a folder with all in it, if there is one.
fn folder(path: &Path) -> Result<(), ClusterError> {
    gone(std::fs::remove_dir_all(path)).map_err(|source| ClusterError::file("remove", path, source))
}

/// What is not there needs no removing.
fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
