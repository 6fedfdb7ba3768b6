//! Making the data folder of a new cluster.

use crate::binaries::{Binaries, all_binaries, find_binaries};
use crate::error::ClusterError;
use crate::place::Place;
use crate::process;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// The programs that fit the data: those of the major version that wrote it, or the preferred
/// ones where there is no data yet.
pub(crate) fn programs(pgdata: &Path) -> Result<Binaries, ClusterError> {
    let file = pgdata.join("PG_VERSION");
    if !pgdata.is_dir() {
        return Ok(find_binaries()?);
    }
    let text = std::fs::read_to_string(&file)
        .map_err(|source| ClusterError::file("read", &file, source))?;
    let major = text.trim().parse().unwrap_or_default();
    let fitting = all_binaries().into_iter().find(|binaries| binaries.major() == major);
    fitting.ok_or_else(|| ClusterError::OtherVersion { pgdata: pgdata.to_owned(), major })
}

/// Makes the data folder when there is none. It is made under another name and then renamed, so
/// that a half-made one is never taken for data.
pub(crate) fn ensure(
    place: &Place,
    binaries: &Binaries,
    durable: bool,
) -> Result<(), ClusterError> {
    let pgdata = place.pgdata();
    if pgdata.is_dir() {
        return Ok(());
    }
    let unfinished = place.unfinished();
    if unfinished.exists() {
        std::fs::remove_dir_all(&unfinished)
            .map_err(|source| ClusterError::file("remove", &unfinished, source))?;
    }
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&unfinished)
        .map_err(|source| ClusterError::file("create", &unfinished, source))?;
    place.account.take(&unfinished)?;

    let mut command = process::command(&binaries.program("initdb"), &place.account);
    command.arg("--pgdata").arg(&unfinished);
    // The same order of text on every machine, and no package of locales needed.
    command.args(["--encoding", "UTF8", "--locale", "C", "--username", "postgres"]);
    // Whoever reaches the socket is trusted; its folder lets nobody else reach it.
    command.args(["--auth-local", "trust", "--auth-host", "reject"]);
    if !durable {
        command.arg("--no-sync");
    }
    process::run(&mut command)?;
    std::fs::rename(&unfinished, &pgdata)
        .map_err(|source| ClusterError::file("rename", &unfinished, source))
}
