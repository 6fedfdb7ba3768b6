//! How long a file may be.

use super::{Finding, Source};

/// Past this many lines a file needs a reason: it probably owns two things.
const SPLIT: usize = 500;
/// Past this many lines nobody reads a file, whatever the reason.
const MOST: usize = 800;

/// The files that are longer than [`SPLIT`], and why they are one file all the same.
const REASONS: &[(&str, &str)] = &[];

/// Files that people write and read; lock files and snapshots are neither.
const EXTENSIONS: [&str; 9] = ["rs", "sql", "js", "css", "html", "ts", "py", "wit", "sh"];

pub(super) fn check(source: &Source, findings: &mut Vec<Finding>) {
    if !EXTENSIONS.iter().any(|extension| source.has_extension(extension)) {
        return;
    }
    let lines = source.text.lines().count();
    if lines > MOST {
        findings.push(Finding::new(source, 0, format!("{lines} lines; {MOST} is the most")));
    } else if lines > SPLIT && !has_reason(&source.path) {
        let what = format!("{lines} lines; split it, or give a reason in xtask/src/tidy/length.rs");
        findings.push(Finding::new(source, 0, what));
    }
}

/// A reason for a file that is gone or short is a leftover.
pub(super) fn check_list(sources: &[Source], findings: &mut Vec<Finding>) {
    for (path, _) in REASONS {
        let long = |source: &&Source| source.path == *path && source.text.lines().count() > SPLIT;
        if !sources.iter().any(|source| long(&source)) {
            let what = "has a reason to be long in xtask/src/tidy/length.rs, but is not".to_owned();
            findings.push(Finding { path: (*path).to_owned(), line: 0, what });
        }
    }
}

fn has_reason(path: &str) -> bool {
    REASONS.iter().any(|(known, reason)| *known == path && !reason.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    fn findings(path: &str, lines: usize) -> usize {
        let mut findings = Vec::new();
        check(&source(path, &"x\n".repeat(lines)), &mut findings);
        findings.len()
    }

    #[test]
    fn long_code_is_found_and_long_data_is_not() {
        assert_eq!(findings("a.rs", SPLIT), 0);
        assert_eq!(findings("a.rs", SPLIT + 1), 1);
        assert_eq!(findings("a.rs", MOST + 1), 1);
        assert_eq!(findings("Cargo.lock", MOST + 1), 0);
    }
}
