//! The user that a cluster runs as. `PostgreSQL` refuses to run as root.

use crate::error::ClusterError;
use crate::process;
use nix::unistd::{User, geteuid};
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Users to drop to, in the order of preference. The first exists where a package was installed.
const UNPRIVILEGED: [&str; 2] = ["postgres", "nobody"];

/// Who owns a cluster's files and runs its processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Account {
    /// The user of this process, who is not root.
    Caller,
    /// Another user, whom root drops to.
    Other {
        /// The login name, or the number where it has none.
        name: String,
        /// The user's number.
        uid: u32,
        /// The number of its main group.
        gid: u32,
    },
}

impl Account {
    /// The account for a new cluster.
    pub(crate) fn for_new_cluster() -> Result<Self, ClusterError> {
        if !geteuid().is_root() {
            return Ok(Self::Caller);
        }
        UNPRIVILEGED
            .iter()
            .find_map(|name| User::from_name(name).ok().flatten())
            .map(|user| Self::Other {
                name: user.name,
                uid: user.uid.as_raw(),
                gid: user.gid.as_raw(),
            })
            .ok_or(ClusterError::NoAccount)
    }

    /// The account of an existing cluster: whoever owns its files.
    pub(crate) fn owning(pgdata: &Path) -> Result<Self, ClusterError> {
        let metadata = std::fs::metadata(pgdata)
            .map_err(|source| ClusterError::file("look at", pgdata, source))?;
        let (uid, gid) = (metadata.uid(), metadata.gid());
        let caller = geteuid();
        if uid == caller.as_raw() && !caller.is_root() {
            return Ok(Self::Caller);
        }
        if uid == 0 || !caller.is_root() {
            return Err(ClusterError::WrongOwner { path: pgdata.to_owned(), owner: uid });
        }
        let user = User::from_uid(uid.into()).ok().flatten();
        Ok(Self::Other { name: user.map_or_else(|| uid.to_string(), |user| user.name), uid, gid })
    }

    /// The number of the user.
    pub(crate) fn uid(&self) -> u32 {
        match self {
            Self::Caller => geteuid().as_raw(),
            Self::Other { uid, .. } => *uid,
        }
    }

    /// Makes the account the owner of a folder that the caller has just made.
    pub(crate) fn take(&self, path: &Path) -> Result<(), ClusterError> {
        if let Self::Other { uid, gid, .. } = self {
            std::os::unix::fs::lchown(path, Some(*uid), Some(*gid))
                .map_err(|source| ClusterError::file("hand over", path, source))?;
        }
        Ok(())
    }

    /// Whether the account can enter a folder. It is tried, not computed: access lists, mounts
    /// and security modules have a say that the permission bits do not show.
    pub(crate) fn can_enter(&self, dir: &Path) -> bool {
        match self {
            Self::Caller => true,
            Self::Other { .. } => process::command(Path::new("/bin/sh"), self)
                .args(["-c", "cd -- \"$1\"", "sh"])
                .arg(dir)
                .output()
                .is_ok_and(|output| output.status.success()),
        }
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caller => f.write_str("the current user"),
            Self::Other { name, .. } => write!(f, "user `{name}`"),
        }
    }
}
