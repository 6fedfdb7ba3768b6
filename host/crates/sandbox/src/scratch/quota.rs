//! What an attempt may have in its folder. See the documentation of `scratch` for why it holds.

use super::measure::measure;
use crate::limiter::LimitHit;
use bytes::Bytes;
use cofferdam_core::limits::Limits;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, OnceLock};
use tokio::sync::{Mutex, OwnedMutexGuard};
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{FsError, StreamError};
use wasmtime_wasi::runtime::spawn_blocking;

/// Files and folders that an attempt may have open at once. Each is a descriptor of the worker's,
/// which often has no more than a thousand for everything.
pub(super) const MAX_OPEN: usize = 64;

/// What was not done.
#[derive(Debug)]
pub(super) enum Refused {
    /// It does not fit. The attempt ends.
    Full(LimitHit),
    /// The system did not do it. The guest is told.
    Io(io::Error),
}

impl From<LimitHit> for Refused {
    fn from(hit: LimitHit) -> Self {
        Self::Full(hit)
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Refused> for FsError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Full(hit) => Self::trap(hit),
            Refused::Io(error) => ErrorCode::from(error).into(),
        }
    }
}

impl From<Refused> for StreamError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Full(hit) => Self::Trap(hit.into()),
            Refused::Io(error) => Self::LastOperationFailed(error.into()),
        }
    }
}

/// The books of one attempt, with the lock around them.
pub(super) struct Quota {
    books: Arc<Mutex<Books>>,
    /// What ends the attempt, once there is something: a stream may run into it while nobody looks
    /// at the stream.
    hit: OnceLock<LimitHit>,
}

/// The lock, held. Nobody else changes the folder until it is dropped.
pub(super) type Held = OwnedMutexGuard<Books>;

/// How much there is at most, and how much there may be.
pub(super) struct Books {
    top: OwnedFd,
    bytes: u64,
    max_bytes: u64,
    files: u64,
    max_files: u64,
    /// Everything that was opened. What only this holds has been closed by the guest: the last
    /// descriptor of a file is closed where closing may take its time.
    open: Vec<Arc<File>>,
}

impl Quota {
    /// For an empty folder.
    pub(super) fn new(top: OwnedFd, limits: &Limits) -> Self {
        let books = Books {
            top,
            bytes: 0,
            max_bytes: limits.scratch_bytes,
            files: 0,
            max_files: limits.scratch_files,
            open: Vec::new(),
        };
        Self { books: Arc::new(Mutex::new(books)), hit: OnceLock::new() }
    }

    /// Why the attempt must end, if it must.
    pub(super) fn hit(&self) -> Option<LimitHit> {
        self.hit.get().copied()
    }

    /// Keeps everybody else away from the folder, for a change that somebody else makes and that
    /// makes at most so many files and folders. They are charged.
    pub(super) async fn hold(&self, files: u64) -> Result<Held, Refused> {
        let mut books = Arc::clone(&self.books).lock_owned().await;
        if books.is_tidy() && books.fits(0, files).is_ok() {
            books.files = books.files.saturating_add(files);
            return Ok(books);
        }
        let held = spawn_blocking(move || {
            books.tidy();
            books.charge(0, files)?;
            Ok(books)
        });
        self.noted(held.await)
    }

    /// Writes all of `bytes`, at the end of the file where no place is given. Answers how many they
    /// were.
    pub(super) async fn write(
        &self,
        file: Arc<File>,
        place: Option<u64>,
        bytes: Bytes,
    ) -> Result<u64, Refused> {
        self.change(move |books| {
            let (length, written) = (file.metadata()?.len(), bytes.len() as u64);
            let start = place.unwrap_or(length);
            if written > 0 {
                books.charge(start.saturating_add(written).saturating_sub(length), 0)?;
                file.write_all_at(&bytes, start)?;
            }
            Ok(written)
        })
        .await
    }

    /// Makes a file as long as that.
    pub(super) async fn set_size(&self, file: Arc<File>, size: u64) -> Result<(), Refused> {
        self.change(move |books| {
            books.charge(size.saturating_sub(file.metadata()?.len()), 0)?;
            Ok(file.set_len(size)?)
        })
        .await
    }

    /// Changes the folder where that may block. The lock goes with the change: should whoever waits
    /// for it be dropped, it is held for as long as the change lasts.
    async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Books) -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, Refused> {
        let mut books = Arc::clone(&self.books).lock_owned().await;
        self.noted(spawn_blocking(move || change(&mut books)).await)
    }

    fn noted<T>(&self, done: Result<T, Refused>) -> Result<T, Refused> {
        if let Err(Refused::Full(hit)) = &done {
            // The first one is the reason.
            let _ = self.hit.set(*hit);
        }
        done
    }
}

impl Books {
    /// Something was opened.
    pub(super) fn opened(&mut self, file: Arc<File>) {
        self.open.push(file);
    }

    /// Whether as much is open as may be.
    pub(super) fn is_crowded(&self) -> bool {
        self.open.len() >= MAX_OPEN
    }

    fn is_tidy(&self) -> bool {
        self.open.iter().all(in_use)
    }

    /// Closes what nobody uses any more. Blocks.
    fn tidy(&mut self) {
        self.open.retain(in_use);
    }

    /// Charges what is about to be made. Blocks where it does not seem to fit.
    fn charge(&mut self, bytes: u64, files: u64) -> Result<(), Refused> {
        if self.fits(bytes, files).is_err() {
            self.tidy();
            let found = measure(&self.top, &self.open)?;
            (self.bytes, self.files) = (found.bytes, found.files);
            self.fits(bytes, files)?;
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.files = self.files.saturating_add(files);
        Ok(())
    }

    /// Whether there is room for so much more. What does not grow always fits.
    fn fits(&self, bytes: u64, files: u64) -> Result<(), LimitHit> {
        if bytes > 0 && self.bytes.saturating_add(bytes) > self.max_bytes {
            return Err(LimitHit::Disk { max: self.max_bytes });
        }
        if files > 0 && self.files.saturating_add(files) > self.max_files {
            return Err(LimitHit::Files { max: self.max_files });
        }
        Ok(())
    }
}

/// Whether a descriptor, a stream or a call that is being made has the file as well.
fn in_use(file: &Arc<File>) -> bool {
    Arc::strong_count(file) > 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::{Path, PathBuf};
    use tempfile::TempDir;

    const MAX: u64 = 10_000;

    struct Place {
        quota: Quota,
        folder: TempDir,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let top = File::open(folder.path()).unwrap().into();
            let limits = Limits { scratch_bytes: MAX, scratch_files: 3, ..Limits::default() };
            Self { quota: Quota::new(top, &limits), folder }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        /// Makes or opens a file as the view does.
        async fn open(&self, name: &str) -> Result<Arc<File>, Refused> {
            let mut held = self.quota.hold(1).await?;
            let file = File::options().create(true).append(false).write(true).truncate(false);
            let file = Arc::new(file.clone().open(self.path(name))?);
            held.opened(Arc::clone(&file));
            Ok(file)
        }

        async fn write(&self, file: &Arc<File>, at: u64, length: usize) -> Result<u64, Refused> {
            let bytes = Bytes::from(vec![7; length]);
            self.quota.write(Arc::clone(file), Some(at), bytes).await
        }
    }

    fn is_full<T>(result: Result<T, Refused>) -> bool {
        matches!(result, Err(Refused::Full(LimitHit::Disk { max: MAX })))
    }

    fn length(path: &Path) -> u64 {
        fs::metadata(path).unwrap().len()
    }

    #[tokio::test]
    async fn a_file_may_be_as_long_as_the_quota_and_not_a_byte_longer() {
        let place = Place::new();
        let file = place.open("f").await.unwrap();
        assert_eq!(place.write(&file, 0, 10_000).await.unwrap(), 10_000);
        // Writing over what is there is free, as often as one likes.
        for _ in 0..10 {
            place.write(&file, 0, 10_000).await.unwrap();
        }
        assert!(is_full(place.write(&file, 1, 10_000).await));
        assert_eq!(length(&place.path("f")), 10_000);
        assert_eq!(place.quota.hit(), Some(LimitHit::Disk { max: MAX }));
    }

    #[tokio::test]
    async fn a_refusal_changes_nothing() {
        let place = Place::new();
        let file = place.open("f").await.unwrap();
        assert!(is_full(place.quota.set_size(Arc::clone(&file), MAX + 1).await));
        assert!(is_full(place.write(&file, u64::MAX, 1).await));
        assert!(is_full(place.write(&file, MAX, 1).await));
        assert_eq!(length(&place.path("f")), 0);
        // Nothing at all is nothing, wherever it goes.
        assert_eq!(place.write(&file, u64::MAX, 0).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn two_descriptors_of_a_file_are_one_file() {
        let place = Place::new();
        let (one, other) = (place.open("f").await.unwrap(), place.open("f").await.unwrap());
        place.write(&one, 0, 6_000).await.unwrap();
        place.write(&other, 0, 6_000).await.unwrap();
        place.write(&other, 4_000, 6_000).await.unwrap();
        assert!(is_full(place.write(&one, 9_999, 2).await));
    }

    #[tokio::test]
    async fn what_is_made_shorter_or_removed_makes_room() {
        let place = Place::new();
        let (one, other) = (place.open("f").await.unwrap(), place.open("g").await.unwrap());
        for _ in 0..5 {
            place.write(&one, 0, 9_000).await.unwrap();
            place.quota.set_size(Arc::clone(&one), 0).await.unwrap();
            place.write(&other, 0, 9_000).await.unwrap();
            place.quota.set_size(Arc::clone(&other), 0).await.unwrap();
        }
        place.write(&one, 0, 9_000).await.unwrap();
        drop(one);
        fs::remove_file(place.path("f")).unwrap();
        place.write(&other, 0, 9_000).await.unwrap();
    }

    #[tokio::test]
    async fn what_was_removed_counts_until_nobody_can_write_to_it() {
        let place = Place::new();
        let (one, other) = (place.open("f").await.unwrap(), place.open("g").await.unwrap());
        place.write(&one, 0, 6_000).await.unwrap();
        fs::remove_file(place.path("f")).unwrap();
        assert!(is_full(place.write(&other, 0, 6_000).await));
        drop(one);
        place.write(&other, 0, 6_000).await.unwrap();
    }

    #[tokio::test]
    async fn files_and_folders_are_counted() {
        let place = Place::new();
        for name in ["f", "g"] {
            place.open(name).await.unwrap();
        }
        // One that exists is none more, although that is found out later.
        for _ in 0..10 {
            place.open("g").await.unwrap();
        }
        let held = place.quota.hold(1).await.unwrap();
        fs::create_dir(place.path("d")).unwrap();
        drop(held);
        let hit = place.open("h").await.unwrap_err();
        assert!(matches!(hit, Refused::Full(LimitHit::Files { max: 3 })), "{hit:?}");
        // What needs no more files goes on.
        drop(place.quota.hold(0).await.unwrap());
    }

    #[tokio::test]
    async fn appending_goes_to_the_end_wherever_that_is() {
        let place = Place::new();
        let file = place.open("f").await.unwrap();
        for _ in 0..5 {
            let bytes = Bytes::from_static(&[1; 2_000]);
            place.quota.write(Arc::clone(&file), None, bytes).await.unwrap();
        }
        assert_eq!(length(&place.path("f")), 10_000);
        assert!(is_full(
            place.quota.write(Arc::clone(&file), None, Bytes::from_static(b"x")).await
        ));
    }

    #[tokio::test]
    async fn many_changes_at_once_are_one_after_the_other() {
        // Given more writers than there is room for, all of whom append at the same time
        let place = Arc::new(Place::new());
        let file = place.open("f").await.unwrap();
        let writers: Vec<_> = (0..20)
            .map(|_| {
                let (place, file) = (Arc::clone(&place), Arc::clone(&file));
                tokio::spawn(async move {
                    place.quota.write(file, None, Bytes::from_static(&[1; 1_000])).await.is_ok()
                })
            })
            .collect();
        let mut written = 0;
        for writer in writers {
            written += u64::from(writer.await.unwrap());
        }
        // then exactly as many have written as there was room for.
        assert_eq!((written, length(&place.path("f"))), (10, 10_000));
    }

    #[tokio::test]
    async fn descriptors_that_the_guest_has_dropped_do_not_pile_up() {
        let place = Place::new();
        for _ in 0..200 {
            drop(place.open("f").await.unwrap());
        }
        let held = place.quota.hold(0).await.unwrap();
        assert!(!held.is_crowded());
        drop(held);
        let mut open = Vec::new();
        for _ in 0..MAX_OPEN {
            open.push(place.open("f").await.unwrap());
        }
        assert!(place.quota.hold(0).await.unwrap().is_crowded());
    }
}
