//! The folder of a cluster's socket.
//!
//! The path of a Unix socket may have about 100 bytes, and a data folder can lie deeper than
//! that or on a file system without sockets. So the socket lives in `/tmp`, in a folder named
//! after the data.

use crate::account::Account;
use crate::error::ClusterError;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// The port is only a part of the socket's name.
pub(crate) const PORT: &str = "5432";

/// Where the socket of a data folder lies.
pub(crate) fn folder(pgdata: &Path) -> PathBuf {
    PathBuf::from(format!("/tmp/cofferdam-{:016x}", fingerprint(pgdata)))
}

/// Makes the folder, or makes sure that the one there is private to the account. Anybody can make
/// folders in `/tmp`; a server in a foreign one could be replaced by its owner.
pub(crate) fn prepare(pgdata: &Path, account: &Account) -> Result<PathBuf, ClusterError> {
    let dir = folder(pgdata);
    match std::fs::DirBuilder::new().mode(0o700).create(&dir) {
        Ok(()) => account.take(&dir)?,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let metadata = std::fs::symlink_metadata(&dir)
                .map_err(|source| ClusterError::file("look at", &dir, source))?;
            let private = metadata.is_dir() && metadata.mode() & 0o777 == 0o700;
            let caller = nix::unistd::geteuid().as_raw();
            if !private || (metadata.uid() != account.uid() && metadata.uid() != caller) {
                return Err(ClusterError::SocketFolder { path: dir });
            }
            // Made by an earlier process of the caller that ended before it handed it over.
            account.take(&dir)?;
        }
        Err(source) => return Err(ClusterError::file("create", &dir, source)),
    }
    Ok(dir)
}

/// Whether a server accepts connections there.
pub(crate) fn answers(dir: &Path) -> bool {
    UnixStream::connect(dir.join(format!(".s.PGSQL.{PORT}"))).is_ok()
}

/// The connection URL of a database.
pub(crate) fn url(dir: &Path, database: &str) -> String {
    let host = dir.to_string_lossy();
    format!("postgres://postgres@localhost/{}?host={}", encode(database), encode(&host))
}

/// Percent-encodes everything but unreserved characters.
fn encode(text: &str) -> String {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(
            |byte| {
                if unreserved(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
            },
        )
        .collect()
}

/// FNV-1a: a name that is the same in every release of this program, which the hash of the
/// standard library does not promise.
pub(crate) fn fingerprint(path: &Path) -> u64 {
    path.as_os_str().as_encoded_bytes().iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_url_is_encoded() {
        assert_eq!(
            url(Path::new("/tmp/a b"), "na/me"),
            "postgres://postgres@localhost/na%2Fme?host=%2Ftmp%2Fa%20b"
        );
    }

    #[test]
    fn a_socket_path_is_short_however_deep_the_data_lies() {
        let deep = PathBuf::from(format!("/{}", "deep/".repeat(100)));
        assert!(folder(&deep).as_os_str().len() + "/.s.PGSQL.5432".len() < 100);
        assert_ne!(folder(&deep), folder(&deep.join("er")));
    }

    #[test]
    fn a_folder_that_is_open_to_others_is_refused() {
        let pgdata = tempfile::tempdir().unwrap();
        let dir = folder(pgdata.path());
        std::fs::create_dir(&dir).unwrap();
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).unwrap();

        let refused = prepare(pgdata.path(), &Account::Caller);

        std::fs::remove_dir(&dir).unwrap();
        assert!(matches!(refused, Err(ClusterError::SocketFolder { .. })));
    }
}
