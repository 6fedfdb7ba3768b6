//! What can go wrong with a private cluster.

use crate::binaries::FindError;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

/// Why a private cluster could not be opened, used or stopped.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// There are no server programs to run it with.
    #[error(transparent)]
    Find(#[from] FindError),
    /// Another live process has the cluster open.
    #[error("the private PostgreSQL in {} is in use by another process", data_dir.display())]
    InUse {
        /// The folder of the cluster.
        data_dir: PathBuf,
    },
    /// The process is root, and no unprivileged user exists.
    #[error("PostgreSQL does not run as root, and there is no user `postgres` or `nobody`")]
    NoAccount,
    /// The cluster's files belong to somebody whom this process cannot become.
    #[error("{} belongs to user {owner}, not to the user that would run it", path.display())]
    WrongOwner {
        /// The folder of the files.
        path: PathBuf,
        /// The number of the user that owns them.
        owner: u32,
    },
    /// The user that the cluster runs as cannot reach its folder, and there is no other place.
    #[error("{account} cannot enter {}", path.display())]
    OutOfReach {
        /// The folder.
        path: PathBuf,
        /// Who cannot enter it.
        account: String,
    },
    /// The data was written by a major version that is not installed.
    #[error("the data in {} needs PostgreSQL {major}, which is not installed", pgdata.display())]
    OtherVersion {
        /// The data.
        pgdata: PathBuf,
        /// The major version that wrote it.
        major: u32,
    },
    /// Somebody else owns the folder for the socket, or it is open to others.
    #[error("{} exists and is not a private folder of the cluster's user", path.display())]
    SocketFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The name of a server setting has characters that no setting has.
    #[error("`{name}` is not the name of a PostgreSQL setting")]
    BadSetting {
        /// The name.
        name: String,
    },
    /// The name cannot be a database's.
    #[error("`{name}` cannot be the name of a database: 1 to 63 bytes, no NUL")]
    BadDatabaseName {
        /// The name.
        name: String,
    },
    /// A file or folder could not be read, made or changed.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A program could not be started.
    #[error("cannot run {program}")]
    Spawn {
        /// The program.
        program: String,
        /// Why not.
        source: io::Error,
    },
    /// A program ended with an error.
    #[error("{program} failed ({status}): {said}")]
    Failed {
        /// The program.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// What it said.
        said: String,
    },
    /// The server ended while it was starting.
    #[error("PostgreSQL ended while starting ({status}):\n{log}")]
    Ended {
        /// How it ended.
        status: ExitStatus,
        /// The end of its log.
        log: String,
    },
    /// The server did not become ready in time, and was stopped.
    #[error("PostgreSQL was not ready after {} s:\n{log}", waited.as_secs())]
    NotReady {
        /// How long it had.
        waited: Duration,
        /// The end of its log.
        log: String,
    },
    /// A server left by an earlier process has the data open and neither answers nor ends.
    #[error("PostgreSQL process {pid} has the data open but does not answer")]
    Stuck {
        /// The process.
        pid: i32,
    },
    /// The server did not end in time, not even when told to do so at once.
    #[error("PostgreSQL process {pid} does not stop")]
    WillNotStop {
        /// The process.
        pid: i32,
    },
}

impl ClusterError {
    pub(crate) fn file(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::File { action, path: path.to_owned(), source }
    }

    /// What to do about it, when there is something. The sentence has no trailing period.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Find(error) => error.hint(),
            Self::InUse { .. } => Some("stop that process, or use another data folder".to_owned()),
            Self::NoAccount => Some(
                "create a user `postgres`, or start this program as an ordinary user".to_owned(),
            ),
            Self::WrongOwner { owner, .. } => {
                Some(format!("start this program as user {owner}, or use another data folder"))
            }
            Self::OutOfReach { path, .. } => Some(format!(
                "use a data folder below one that every user may enter, such as /var/lib, or allow \
                 it with `chmod o+x` on {} and the folders above it",
                path.display()
            )),
            Self::OtherVersion { major, .. } => Some(format!(
                "install PostgreSQL {major} beside the other one, or start with an empty folder"
            )),
            Self::SocketFolder { path } => {
                Some(format!("see who made {}, and remove it", path.display()))
            }
            Self::Stuck { pid } | Self::WillNotStop { pid } => {
                Some(format!("look at process {pid}, and stop it with `kill -QUIT {pid}`"))
            }
            Self::BadSetting { .. }
            | Self::BadDatabaseName { .. }
            | Self::File { .. }
            | Self::Spawn { .. }
            | Self::Failed { .. }
            | Self::Ended { .. }
            | Self::NotReady { .. } => None,
        }
    }
}
