//! A file that holds the installation's key, and that nobody else may read.

use crate::error::{CommandError, Result};
use crate::exit::Exit;
use cofferdam_core::key::{InstallationKey, KEY_BYTES, KeyError};
use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;
use tempfile::NamedTempFile;

/// Which permissions nobody but the owner may have.
const OTHERS: u32 = 0o077;
/// The most that is read, in bytes: a path that leads elsewhere must not fill the memory.
const MAX_FILE: u64 = 1024;

/// Reads the key. A file that others may read is refused: what they read once they have for ever.
pub(crate) fn read(path: &Path) -> Result<InstallationKey> {
    let unreadable =
        |error: io::Error| CommandError::file(Exit::Usage, "read the key file", path, &error);
    let file = File::open(path).map_err(unreadable)?;
    let mode = file.metadata().map_err(unreadable)?.permissions().mode() & 0o777;
    if mode & OTHERS != 0 {
        let shown = path.display();
        return Err(CommandError::usage(format!("the key file `{shown}` is not private"))
            .cause(format!("its mode is {mode:o}, which lets others at it"))
            .hint(format!("chmod 600 {shown}")));
    }
    let mut text = String::new();
    file.take(MAX_FILE).read_to_string(&mut text).map_err(unreadable)?;
    text.parse().map_err(|error: KeyError| {
        CommandError::hinted(Exit::Usage, &error)
            .context(format!("`{}` is not a key file", path.display()))
    })
}

/// The same, after making the file where there is none. Several processes may do so at once: the
/// key is that of the one who was first.
pub(crate) fn read_or_make(folder: &Path, name: &str) -> Result<InstallationKey> {
    let path = folder.join(name);
    if !path.exists() {
        make(folder, &path).map_err(|error| {
            CommandError::file(Exit::Failed, "make the key file", &path, &error)
        })?;
    }
    read(&path)
}

/// Makes the file whole before it has its name, and leaves one alone that has it already.
fn make(folder: &Path, path: &Path) -> io::Result<()> {
    make_folder(folder)?;
    // Such a file is its owner's alone from its first moment on.
    let mut file = NamedTempFile::new_in(folder)?;
    let key = InstallationKey::from_bytes(rand::random::<[u8; KEY_BYTES]>());
    writeln!(file, "{}", key.to_hex())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
        _ => Ok(()),
    }
}

/// Makes a folder that others may enter whatever the umask says: for root, a private Postgres runs
/// under another account, and has its data below.
fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
    std::fs::set_permissions(folder, Permissions::from_mode(0o755))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "installation.key";

    fn write(path: &Path, text: &str, mode: u32) {
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_key_is_made_once_and_is_its_owners_alone() {
        // Given a folder that is not there, and processes that need the key at once,
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("a/b");
        let made: Vec<_> = std::thread::scope(|scope| {
            let makers: Vec<_> =
                (0..8).map(|_| scope.spawn(|| read_or_make(&data, NAME).unwrap())).collect();
            makers.into_iter().map(|maker| maker.join().unwrap()).collect()
        });
        // then all have the same key,
        assert!(made.iter().all(|key| *key == made[0]));
        assert!(read_or_make(&data, NAME).unwrap() == made[0]);
        // nobody else can read it, and nothing else is left behind.
        let mode = std::fs::metadata(data.join(NAME)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(&data).unwrap().count(), 1);
        // The key of another folder is another one.
        assert!(read_or_make(folder.path(), NAME).unwrap() != made[0]);
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let text = "07".repeat(KEY_BYTES);
        for mode in [0o644, 0o640, 0o604, 0o622] {
            write(&path, &text, mode);
            let error = read(&path).unwrap_err();
            assert_eq!(error.exit, Exit::Usage);
            assert!(error.hints[0].starts_with("chmod 600 /"), "{error:?}");
        }
        for mode in [0o600, 0o400] {
            write(&path, &format!(" {text}\n"), mode);
            assert!(read(&path).is_ok());
            std::fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn a_file_that_holds_no_key_is_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        for text in ["", "hunter2", &"07".repeat(KEY_BYTES - 1), &"0".repeat(10_000)] {
            write(&path, text, 0o600);
            let error = read(&path).unwrap_err();
            assert!(error.message.ends_with("is not a key file"), "{error:?}");
            assert!(error.hints[0].contains("openssl rand"), "{error:?}");
            assert!(text.is_empty() || !format!("{error:?}").contains(text), "{error:?}");
        }
        let missing = read(&folder.path().join("missing")).unwrap_err();
        assert!(missing.message.starts_with("cannot read the key file"), "{missing:?}");
    }
}
