//! The PostgreSQL server programs on this machine.

use crate::process;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest major version that the platform's SQL runs on.
pub const MIN_MAJOR: u32 = 14;

/// The programs that a private cluster needs. `createdb` comes with the client packages, which
/// every distribution's server package depends on.
const PROGRAMS: [&str; 3] = ["postgres", "initdb", "createdb"];

/// Where packages put the programs when they are not on `PATH`: in `base/prefix*/bin`.
const USUAL: [(&str, &str); 7] = [
    ("/usr/lib/postgresql", ""),
    ("/usr", "pgsql-"),
    ("/usr/lib", "postgresql"),
    ("/usr/local", "pgsql"),
    ("/opt/homebrew/opt", "postgresql"),
    ("/usr/local/opt", "postgresql"),
    ("/Applications/Postgres.app/Contents/Versions", ""),
];

/// One installed set of server programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binaries {
    dir: PathBuf,
    version: String,
    major: u32,
}

/// Why no server programs can be used.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// Neither `PATH` nor the usual folders hold a complete set.
    #[error("no PostgreSQL server programs found on PATH or in the usual folders")]
    NotFound,
    /// Every set found is older than [`MIN_MAJOR`].
    #[error("PostgreSQL {version} in {} is too old: {MIN_MAJOR} or newer is needed", dir.display())]
    TooOld {
        /// Where it was found.
        dir: PathBuf,
        /// What it says it is.
        version: String,
    },
    /// The folder lacks one of the programs.
    #[error("{} has no `{program}`", dir.display())]
    Incomplete {
        /// The folder.
        dir: PathBuf,
        /// The missing program.
        program: &'static str,
    },
    /// `postgres --version` failed or said something else.
    #[error("`{} --version` does not say which PostgreSQL it is", program.display())]
    UnknownVersion {
        /// The program.
        program: PathBuf,
    },
}

impl FindError {
    /// What to do about it. The sentence has no trailing period.
    pub fn hint(&self) -> Option<String> {
        Some(format!(
            "install the PostgreSQL server, {MIN_MAJOR} or newer (Debian and Ubuntu: `apt-get \
             install postgresql`, Fedora: `dnf install postgresql-server`, macOS: `brew install \
             postgresql@17`), run `cargo xtask setup` in a checkout, or name a running server \
             with `--database-url`"
        ))
    }
}

impl Binaries {
    /// Looks at one folder, and fails when it does not hold a usable set.
    pub fn at(dir: &Path) -> Result<Self, FindError> {
        for program in PROGRAMS {
            if !dir.join(program).is_file() {
                return Err(FindError::Incomplete { dir: dir.to_owned(), program });
            }
        }
        let program = dir.join("postgres");
        let unknown = || FindError::UnknownVersion { program: program.clone() };
        let output = process::plain(&mut Command::new(&program))
            .arg("--version")
            .output()
            .map_err(|_| unknown())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let (version, major) = parse_version(&text).ok_or_else(unknown)?;
        if major < MIN_MAJOR {
            return Err(FindError::TooOld { dir: dir.to_owned(), version });
        }
        Ok(Self { dir: dir.to_owned(), version, major })
    }

    /// The folder that holds them.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The version as the server says it, such as `15.18`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The major version: data folders of one major version cannot be opened by another.
    pub fn major(&self) -> u32 {
        self.major
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

/// The set to use: the first on `PATH`, otherwise the newest in the usual folders.
pub fn find_binaries() -> Result<Binaries, FindError> {
    let (found, refused) = search(std::env::var_os("PATH"), &USUAL);
    found.into_iter().next().ok_or_else(|| refused.unwrap_or(FindError::NotFound))
}

/// Every usable set on the machine, in the order of preference.
pub fn all_binaries() -> Vec<Binaries> {
    search(std::env::var_os("PATH"), &USUAL).0
}

/// The usable sets, and what was wrong with the newest that is merely too old.
fn search(path: Option<OsString>, usual: &[(&str, &str)]) -> (Vec<Binaries>, Option<FindError>) {
    let mut found: Vec<Binaries> = Vec::new();
    let mut refused = None;
    let mut look = |dir: &Path, found: &mut Vec<Binaries>| {
        if found.iter().any(|known| known.dir == dir) {
            return;
        }
        match Binaries::at(dir) {
            Ok(binaries) => found.push(binaries),
            Err(error @ FindError::TooOld { .. }) => refused = Some(error),
            Err(_) => {}
        }
    };
    for entry in std::env::split_paths(&path.unwrap_or_default()) {
        // A link on PATH may stand alone; its target has its companions beside it.
        if let Ok(program) = entry.join("postgres").canonicalize()
            && let Some(dir) = program.parent()
        {
            look(dir, &mut found);
        }
    }
    let mut packaged = Vec::new();
    for (base, prefix) in usual {
        for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(prefix)
                && let Ok(dir) = entry.path().join("bin").canonicalize()
            {
                look(&dir, &mut packaged);
            }
        }
    }
    packaged.sort_by_key(|binaries| std::cmp::Reverse(binaries.major));
    for binaries in packaged {
        if !found.contains(&binaries) {
            found.push(binaries);
        }
    }
    (found, refused)
}

/// Reads `postgres (PostgreSQL) 15.18 (Debian 15.18-0)` as `15.18` and 15.
fn parse_version(text: &str) -> Option<(String, u32)> {
    let version = text.split_once("(PostgreSQL)")?.1.split_whitespace().next()?;
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    Some((version.to_owned(), digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A set of programs that answer `--version` and nothing else.
    fn install(dir: &Path, version: &str) {
        std::fs::create_dir_all(dir).unwrap();
        for program in PROGRAMS {
            let file = dir.join(program);
            let script = format!("#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n");
            std::fs::write(&file, script).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    #[test]
    fn versions_are_read_as_servers_print_them() {
        let read = |text| parse_version(text).map(|(_, major)| major);
        assert_eq!(read("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some(15));
        assert_eq!(read("postgres (PostgreSQL) 18beta1\n"), Some(18));
        assert_eq!(read("mysqld 8.0\n"), None);
    }

    #[test]
    fn path_comes_first_and_then_the_newest_package() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        install(&root.join("lib/14/bin"), "14.9");
        install(&root.join("lib/17/bin"), "17.2");
        install(&root.join("lib/9.6/bin"), "9.6.24");
        install(&root.join("own"), "15.1");
        std::fs::create_dir(root.join("links")).unwrap();
        std::os::unix::fs::symlink(root.join("own/postgres"), root.join("links/postgres")).unwrap();

        let lib = root.join("lib");
        let path = Some(root.join("links").into_os_string());
        let (found, _) = search(path, &[(lib.to_str().unwrap(), "")]);

        let majors: Vec<_> = found.iter().map(Binaries::major).collect();
        assert_eq!(majors, [15, 17, 14]);
        assert_eq!(found[0].dir(), root.join("own"), "a link is followed to its companions");
    }

    #[test]
    fn a_set_that_is_only_too_old_is_named() {
        let root = tempfile::tempdir().unwrap();
        install(&root.path().join("9.6/bin"), "9.6.24");

        let (found, refused) = search(None, &[(root.path().to_str().unwrap(), "")]);

        assert!(found.is_empty());
        assert!(matches!(refused, Some(FindError::TooOld { version, .. }) if version == "9.6.24"));
    }
}
