//! Artefacts on disk, in a folder that the workers of a machine share.
//!
//! A file is named after the digest of the component and the engine's fingerprint, and appears
//! whole or not at all. Nothing in it is believed before its authentication code has been verified:
//! the folder is private, but a worker that loads what somebody else could write runs what somebody
//! else wrote. What does not verify is removed, reported and made anew.

use super::artefact::{Artefact, BadArtefact};
use super::fingerprint::Fingerprint;
use super::protocol::MAX_CODE;
use bytes::Bytes;
use cofferdam_core::hint::Hint;
use cofferdam_core::key::{DerivedKey, InstallationKey, KEY_BYTES, Purpose};
use cofferdam_core::module::Digest;
use nix::fcntl::OFlag;
use nix::unistd::geteuid;
use std::fs::{self, DirBuilder, File, FileTimes, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use thiserror::Error;

/// How artefacts' names end.
const SUFFIX: &str = ".artefact";
/// How the names of files begin that are still being written.
const UNFINISHED: &str = ".unfinished-";
/// Files of that kind that are older than this were left by a process that died.
const LEFT_OVER: Duration = Duration::from_hours(1);
/// The key of this machine, where the installation has none.
const KEY_FILE: &str = "machine.key";
/// How much of its size the cache keeps when it throws away: it does so seldom, and then properly.
const KEPT_IN_TENTHS: u64 = 9;

/// Artefacts of this machine. Copies are the same.
#[derive(Clone, Debug)]
pub struct ArtefactCache(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    key: DerivedKey,
    max_bytes: u64,
    alerts: AtomicU64,
    /// Held while files are thrown away.
    evicting: Mutex<()>,
}

/// What is in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStatus {
    /// How many artefacts.
    pub artefacts: u64,
    /// Their size, in bytes.
    pub bytes: u64,
    /// How many did not verify since this process has started.
    pub alerts: u64,
}

/// Why there is no cache.
#[derive(Debug, Error)]
pub enum CacheError {
    /// The folder cannot be used.
    #[error("the folder `{}` of compiled components cannot be used", path.display())]
    Folder {
        /// Which folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Others may write into it, or it is somebody else's.
    #[error("the folder `{}` of compiled components is not private", .0.display())]
    Exposed(PathBuf),
    /// The file with the machine's key is none.
    #[error("`{}` holds no key", .0.display())]
    Key(PathBuf),
}

impl Hint for CacheError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Folder { .. } => {
                "set COFFERDAM_CACHE_DIR to a folder that this user may write to"
            }
            Self::Exposed(path) => {
                return Some(format!("it must be this user's own: chmod 700 {}", path.display()));
            }
            Self::Key(_) => "delete it: a new one is made, and components are compiled anew",
        };
        Some(hint.to_owned())
    }
}

impl ArtefactCache {
    /// Opens the folder, and makes it where there is none. Files are signed with `key`; without one
    /// with a key of this machine, which is made and kept in the folder. Files of more than
    /// `max_bytes` together are thrown away, the least recently used first. Blocks.
    pub fn open(
        folder: PathBuf,
        key: Option<DerivedKey>,
        max_bytes: u64,
    ) -> Result<Self, CacheError> {
        let failed = |source| CacheError::Folder { path: folder.clone(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
        let metadata = fs::metadata(&folder).map_err(failed)?;
        if metadata.uid() != geteuid().as_raw() || metadata.mode() & 0o022 != 0 {
            return Err(CacheError::Exposed(folder));
        }
        let key = match key {
            Some(key) => key,
            None => machine_key(&folder)?,
        };
        let inner =
            Inner { folder, key, max_bytes, alerts: AtomicU64::new(0), evicting: Mutex::default() };
        let cache = Self(Arc::new(inner));
        cache.evict();
        Ok(cache)
    }

    /// What is in it, by looking. Blocks.
    pub fn status(&self) -> CacheStatus {
        let files = self.artefacts();
        CacheStatus {
            artefacts: files.len() as u64,
            bytes: files.iter().map(|file| file.bytes).sum(),
            alerts: self.0.alerts.load(Ordering::Relaxed),
        }
    }

    /// The artefact of a component for an engine, if it is there and nobody has changed it. Blocks.
    pub(crate) fn get(&self, component: Digest, fingerprint: &Fingerprint) -> Option<Artefact> {
        let path = self.path(component, fingerprint);
        let bytes = match read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a compiled component is not readable");
                return None;
            }
        };
        match Artefact::verified(bytes, &self.0.key, component, fingerprint) {
            Ok(artefact) => Some(artefact),
            Err(bad) => {
                self.alert(&path, &bad);
                None
            }
        }
    }

    /// Keeps an artefact. Blocks.
    pub(crate) fn put(&self, artefact: &Artefact) -> io::Result<()> {
        let pieces = artefact.pieces()?;
        let code = Artefact::sign(&pieces, &self.0.key);
        let unfinished = self.0.folder.join(format!("{UNFINISHED}{:032x}", rand::random::<u128>()));
        let written = write(&unfinished, &pieces, &code).and_then(|()| {
            fs::rename(&unfinished, self.path(artefact.component(), artefact.fingerprint()))
        });
        if written.is_err() {
            // Whatever became of it: half of an artefact is of no use.
            let _ = fs::remove_file(&unfinished);
        }
        written?;
        self.evict();
        Ok(())
    }

    fn path(&self, component: Digest, fingerprint: &Fingerprint) -> PathBuf {
        self.0.folder.join(format!("{component}-{}{SUFFIX}", fingerprint.short()))
    }

    /// Says aloud that a file is not what it should be, and removes it.
    fn alert(&self, path: &Path, bad: &BadArtefact) {
        self.0.alerts.fetch_add(1, Ordering::Relaxed);
        tracing::error!(
            path = %path.display(),
            problem = %bad,
            "a compiled component was changed on disk: it is not used, and compiled anew"
        );
        if let Err(error) = fs::remove_file(path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %path.display(), %error, "and it could not be removed");
        }
    }

    /// Throws away what was not used for the longest time, when there is too much. Another process
    /// may be doing the same; what is gone already is no error.
    fn evict(&self) {
        let _alone = self.0.evicting.lock().unwrap_or_else(PoisonError::into_inner);
        self.remove_left_over();
        let mut files = self.artefacts();
        let mut bytes: u64 = files.iter().map(|file| file.bytes).sum();
        if bytes <= self.0.max_bytes {
            return;
        }
        files.sort_by_key(|file| file.used);
        let keep = self.0.max_bytes / 10 * KEPT_IN_TENTHS;
        for file in files {
            if bytes <= keep {
                break;
            }
            let _ = fs::remove_file(&file.path);
            bytes = bytes.saturating_sub(file.bytes);
        }
    }

    fn remove_left_over(&self) {
        let Some(before) = SystemTime::now().checked_sub(LEFT_OVER) else { return };
        for entry in self.entries() {
            if entry.name.starts_with(UNFINISHED) && entry.used < before {
                let _ = fs::remove_file(&entry.path);
            }
        }
    }

    fn artefacts(&self) -> Vec<Entry> {
        self.entries().filter(|entry| entry.name.ends_with(SUFFIX)).collect()
    }

    fn entries(&self) -> impl Iterator<Item = Entry> + use<> {
        let entries = fs::read_dir(&self.0.folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            Some(Entry {
                name: entry.file_name().into_string().ok()?,
                path: entry.path(),
                bytes: metadata.len(),
                used: metadata.modified().ok()?,
            })
        })
    }
}

/// A file of the folder.
struct Entry {
    name: String,
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

fn read(path: &Path) -> io::Result<Bytes> {
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NOFOLLOW.bits()).open(path)?;
    // So that it is seen to be in use. Who cannot say so only loses it earlier.
    let _ = file.set_times(FileTimes::new().set_modified(SystemTime::now()));
    let size = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    if size > MAX_CODE {
        return Err(io::Error::other("it is larger than any artefact"));
    }
    let mut bytes = Vec::with_capacity(size);
    // One that grows meanwhile is none of ours, and must not fill the memory.
    file.take(MAX_CODE as u64).read_to_end(&mut bytes)?;
    Ok(bytes.into())
}

fn write(path: &Path, pieces: &[Bytes], code: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    for piece in pieces {
        file.write_all(piece)?;
    }
    file.write_all(code)?;
    // Before it gets its name: a machine that loses power must not leave an artefact that is half
    // there, which would be taken for a forgery.
    file.sync_data()
}

/// The key of this machine, made where there is none. Several processes may start at once: one of
/// them gives its file the name.
fn machine_key(folder: &Path) -> Result<DerivedKey, CacheError> {
    let path = folder.join(KEY_FILE);
    let failed = |source| CacheError::Folder { path: folder.to_owned(), source };
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let fresh = InstallationKey::from_bytes(rand::random::<[u8; KEY_BYTES]>());
            let unfinished = folder.join(format!("{UNFINISHED}{:032x}", rand::random::<u128>()));
            write(&unfinished, &[], fresh.to_hex().as_bytes()).map_err(failed)?;
            let linked = fs::hard_link(&unfinished, &path);
            let _ = fs::remove_file(&unfinished);
            match linked {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(failed(error));
                }
                _ => fs::read_to_string(&path).map_err(failed)?,
            }
        }
        text => text.map_err(failed)?,
    };
    let key: InstallationKey = text.parse().map_err(|_| CacheError::Key(path))?;
    Ok(key.derive(Purpose::Artefacts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::Symbols;
    use cofferdam_core::module::World;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;
    use tempfile::TempDir;

    fn fingerprint() -> Fingerprint {
        serde_json::from_str(&format!("\"{}\"", "ab".repeat(32))).unwrap()
    }

    fn artefact(component: &[u8], size: usize) -> Artefact {
        let code = Bytes::from(vec![7; size]);
        let symbols = Symbols::default();
        Artefact::new(fingerprint(), Digest::of(component), World::Handler, code, symbols)
    }

    fn open(folder: &TempDir, max_bytes: u64) -> ArtefactCache {
        ArtefactCache::open(folder.path().join("cache"), None, max_bytes).unwrap()
    }

    #[test]
    fn what_was_kept_is_there_for_every_process_of_the_machine() {
        let folder = TempDir::new().unwrap();
        let (one, other) = (open(&folder, 1 << 20), open(&folder, 1 << 20));
        assert!(other.get(Digest::of(b"a"), &fingerprint()).is_none());
        one.put(&artefact(b"a", 1_000)).unwrap();
        let found = other.get(Digest::of(b"a"), &fingerprint()).unwrap();
        assert_eq!(found.code().len(), 1_000);
        assert!(other.get(Digest::of(b"b"), &fingerprint()).is_none());
        assert_eq!(other.status().artefacts, 1);
    }

    #[test]
    fn a_file_that_was_changed_is_not_used_again() {
        // Given an artefact that somebody has changed in one place, and one that was copied to the
        // name of another component
        let folder = TempDir::new().unwrap();
        let cache = open(&folder, 1 << 20);
        cache.put(&artefact(b"a", 1_000)).unwrap();
        let path = cache.path(Digest::of(b"a"), &fingerprint());
        let copy = cache.path(Digest::of(b"b"), &fingerprint());
        fs::copy(&path, &copy).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes[700] ^= 1;
        fs::write(&path, bytes).unwrap();
        // then neither is there, both are gone, and it was noticed.
        for (component, path) in [(b"a", path), (b"b", copy)] {
            assert!(cache.get(Digest::of(component), &fingerprint()).is_none());
            assert!(!path.exists());
        }
        assert_eq!(cache.status().alerts, 2);
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        // Given a cache with room for three
        let folder = TempDir::new().unwrap();
        let cache = open(&folder, 4_500);
        let (now, mut age) = (SystemTime::now(), 100);
        for component in [b"a", b"b", b"c"] {
            cache.put(&artefact(component, 1_000)).unwrap();
            let file = File::open(cache.path(Digest::of(component), &fingerprint())).unwrap();
            let used = now - Duration::from_secs(age);
            file.set_times(FileTimes::new().set_modified(used)).unwrap();
            age -= 10;
        }
        // when the oldest is used and a fourth one comes
        assert!(cache.get(Digest::of(b"a"), &fingerprint()).is_some());
        cache.put(&artefact(b"d", 1_000)).unwrap();
        // then the one goes that nobody has used for the longest time.
        let there = |component| cache.path(Digest::of(component), &fingerprint()).exists();
        assert_eq!([b"a", b"b", b"c", b"d"].map(there), [true, false, true, true]);
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        let folder = TempDir::new().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let opened = ArtefactCache::open(folder.path().to_owned(), None, 1);
        assert!(matches!(opened, Err(CacheError::Exposed(_))));
    }

    #[test]
    fn a_key_that_is_none_is_said_to_be_none() {
        let folder = TempDir::new().unwrap();
        drop(open(&folder, 1));
        fs::write(folder.path().join("cache").join(KEY_FILE), "no key").unwrap();
        let opened = ArtefactCache::open(folder.path().join("cache"), None, 1);
        assert!(matches!(opened, Err(CacheError::Key(_))));
    }
}
