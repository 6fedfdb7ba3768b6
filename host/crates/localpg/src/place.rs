//! Where the files of a cluster lie, and whose they are.

use crate::account::Account;
use crate::error::ClusterError;
use crate::socket::fingerprint;
use std::fs::{File, TryLockError};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Where root puts clusters whose own folder the unprivileged user cannot enter, such as one
/// below `/root`.
const ELSEWHERE: &str = "/var/lib/cofferdam";

/// The file in a cluster's folder that says where it lies instead.
const NOTE: &str = "location";

/// The home of a cluster: its folder, or one elsewhere that stands for it.
#[derive(Debug)]
pub(crate) struct Place {
    /// The folder that was asked for.
    pub(crate) data_dir: PathBuf,
    /// The folder that holds the files. Ours; only `pgdata` in it belongs to the account.
    pub(crate) home: PathBuf,
    /// Who runs the cluster.
    pub(crate) account: Account,
    /// Held as long as the cluster is open, and released by the system if the process is killed.
    _lock: File,
}

impl Place {
    /// Finds or makes the home of a cluster, and locks it against other processes.
    pub(crate) fn claim(data_dir: &Path) -> Result<Self, ClusterError> {
        make_folder(data_dir)?;
        if let Some(place) = Self::claim_existing(data_dir)? {
            return Ok(place);
        }
        let data_dir = canonical(data_dir)?;
        let (home, account) = new_home(&data_dir)?;
        Self::lock(data_dir, home, account)
    }

    /// Finds and locks the home of a cluster that has data. None when there is no data.
    pub(crate) fn claim_existing(data_dir: &Path) -> Result<Option<Self>, ClusterError> {
        if !data_dir.is_dir() {
            return Ok(None);
        }
        let data_dir = canonical(data_dir)?;
        let homes = [data_dir.clone(), elsewhere(&data_dir)];
        let Some(home) = homes.into_iter().find(|home| home.join("pgdata").is_dir()) else {
            return Ok(None);
        };
        let account = Account::owning(&home.join("pgdata"))?;
        if !account.can_enter(&home) {
            return Err(ClusterError::OutOfReach { path: home, account: account.to_string() });
        }
        Self::lock(data_dir, home, account).map(Some)
    }

    fn lock(data_dir: PathBuf, home: PathBuf, account: Account) -> Result<Self, ClusterError> {
        let path = home.join("lock");
        let failed = |source| ClusterError::file("lock", &path, source);
        let file = File::options().create(true).append(true).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { data_dir, home, account, _lock: file }),
            Err(TryLockError::WouldBlock) => Err(ClusterError::InUse { data_dir }),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// The data folder of the server.
    pub(crate) fn pgdata(&self) -> PathBuf {
        self.home.join("pgdata")
    }

    /// The data folder while it is being made.
    pub(crate) fn unfinished(&self) -> PathBuf {
        self.home.join("pgdata.new")
    }

    /// The note that says where a cluster that was moved lies.
    pub(crate) fn note(&self) -> PathBuf {
        self.data_dir.join(NOTE)
    }

    /// The log of the server, put aside when it had become large.
    pub(crate) fn old_log(&self) -> PathBuf {
        self.home.join("postgres.log.1")
    }

    /// The log of the server.
    pub(crate) fn log(&self) -> PathBuf {
        self.home.join("postgres.log")
    }

    /// Whether the files lie in another folder than the one asked for.
    pub(crate) fn moved(&self) -> bool {
        self.home != self.data_dir
    }
}

fn canonical(data_dir: &Path) -> Result<PathBuf, ClusterError> {
    data_dir.canonicalize().map_err(|source| ClusterError::file("look at", data_dir, source))
}

fn elsewhere(data_dir: &Path) -> PathBuf {
    Path::new(ELSEWHERE).join(format!("{:016x}", fingerprint(data_dir)))
}

fn new_home(data_dir: &Path) -> Result<(PathBuf, Account), ClusterError> {
    let account = Account::for_new_cluster()?;
    if account.can_enter(data_dir) {
        return Ok((data_dir.to_owned(), account));
    }
    let elsewhere = elsewhere(data_dir);
    let out_of_reach =
        || ClusterError::OutOfReach { path: data_dir.to_owned(), account: account.to_string() };
    make_folder(&elsewhere).map_err(|_| out_of_reach())?;
    if !account.can_enter(&elsewhere) {
        return Err(out_of_reach());
    }
    tracing::warn!(
        data_dir = %data_dir.display(),
        home = %elsewhere.display(),
        "{account} cannot enter the data folder; the database is kept elsewhere"
    );
    // For the person who looks for the data where it was asked to be.
    let note = data_dir.join(NOTE);
    std::fs::write(&note, format!("{}\n", elsewhere.display()))
        .map_err(|source| ClusterError::file("write", &note, source))?;
    Ok((elsewhere, account))
}

/// Makes a folder, and those above it, which other users may enter whatever the umask says:
/// the account has to reach its data in it. A folder that exists is left as it is.
fn make_folder(dir: &Path) -> Result<(), ClusterError> {
    if dir.is_dir() {
        return Ok(());
    }
    let failed = |source| ClusterError::file("create", dir, source);
    std::fs::DirBuilder::new().recursive(true).mode(0o755).create(dir).map_err(failed)?;
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755)).map_err(failed)
}
