//! `cargo xtask tidy`: the rules of the house that the compiler does not know.
//!
//! One file a group of rules. A rule looks at a file's text and names what breaks it.

mod checklist;
mod layers;
mod length;
mod links;
mod roots;
mod sql;
mod words;

use crate::{shell, workspace};
use anyhow::{Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file of the checkout.
pub(crate) struct Source {
    /// Its path from the root of the workspace, with forward slashes.
    pub(crate) path: String,
    /// What it holds.
    pub(crate) text: String,
}

impl Source {
    fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }

    /// Whether the file is Rust that the project builds.
    pub(crate) fn is_rust(&self) -> bool {
        self.has_extension("rs")
    }

    pub(crate) fn is_sql(&self) -> bool {
        self.has_extension("sql")
    }

    pub(crate) fn is_markdown(&self) -> bool {
        self.has_extension("md")
    }

    pub(crate) fn is_manifest(&self) -> bool {
        self.path.ends_with("Cargo.toml")
    }
}

/// What breaks a rule, as `path:line: what is wrong`. The line is 0 when it is about the file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    what: String,
}

impl Finding {
    pub(crate) fn new(source: &Source, line: usize, what: impl Into<String>) -> Self {
        Self { path: source.path.clone(), line, what: what.into() }
    }
}

/// Applies every rule to every file, and fails when one is broken.
pub(crate) fn run() -> Result<()> {
    let sources = sources()?;
    let mut findings = Vec::new();
    for source in &sources {
        length::check(source, &mut findings);
        words::check(source, &mut findings);
        sql::check(source, &mut findings);
        roots::check(source, &mut findings);
        links::check(source, workspace::root(), &mut findings);
        layers::check(source, &mut findings)?;
    }
    length::check_list(&sources, &mut findings);
    checklist::check(&sources, &mut findings);
    for Finding { path, line, what } in &findings {
        shell::say(&format!("{path}:{line}: {what}"));
    }
    ensure!(findings.is_empty(), "{} findings", findings.len());
    shell::say(&format!("{} files are tidy", sources.len()));
    Ok(())
}

/// The files that are committed or about to be. What is not text has no rules.
pub(crate) fn sources() -> Result<Vec<Source>> {
    let root = workspace::root();
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
    let listing = shell::read(&mut git)?;
    let paths = listing.split('\0').filter(|path| !path.is_empty());
    Ok(paths
        .filter_map(|path| {
            let text = std::fs::read_to_string(root.join(PathBuf::from(path))).ok()?;
            Some(Source { path: path.to_owned(), text })
        })
        .collect())
}

#[cfg(test)]
pub(crate) fn source(path: &str, text: &str) -> Source {
    Source { path: path.to_owned(), text: text.to_owned() }
}
