//! The checklist of what the platform must do about failures: which rows are done, and the tests
//! that show it.
//!
//! `docs/checklist.toml` is written by people. `cargo xtask checklist` writes `docs/checklist.md`
//! from it, `cargo xtask tidy` compares the two and looks for each test in the tree, and a whole
//! `cargo xtask test` fails when one of the tests did not run and pass.

mod page;
mod source;
mod tree;

use crate::test::Report;
use crate::{shell, tidy, workspace};
use anyhow::{Context, Result, bail};
use source::Checklist;
use tree::Tree;

/// What people write.
pub(crate) const SOURCE: &str = "docs/checklist.toml";
/// What is made of it.
pub(crate) const PAGE: &str = "docs/checklist.md";

/// Writes the page anew.
pub(crate) fn run() -> Result<()> {
    let sources = tidy::sources()?;
    match make(&sources) {
        Ok(page) => {
            std::fs::write(workspace::root().join(PAGE), page).context(PAGE)?;
            shell::say(&format!("wrote {PAGE}"));
            Ok(())
        }
        Err(problems) => {
            for problem in &problems {
                shell::say(&format!("{SOURCE}: {problem}"));
            }
            bail!("{} problems", problems.len())
        }
    }
}

/// The page as it should be, or all that is wrong with its source.
pub(crate) fn make(sources: &[tidy::Source]) -> Result<String, Vec<String>> {
    let text = sources.iter().find(|source| source.path == SOURCE).map(|source| &*source.text);
    let text = text.ok_or_else(|| vec!["is not there".to_owned()])?;
    let checklist = Checklist::read(text)?;
    page::render(&checklist, &Tree::new(sources))
}

/// The rows that say they are done though a test that they name did not run and pass, a line each.
pub(crate) fn unshown(report: &Report) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(workspace::root().join(SOURCE)).context(SOURCE)?;
    match Checklist::read(&text) {
        Ok(checklist) => Ok(checklist.unshown(|test| report.has_passed(test))),
        Err(problems) => bail!("{SOURCE}: {}", problems.join("; ")),
    }
}
