//! Words that must not be committed.

use super::{Finding, Source};

/// In Rust: what postpones work.
const POSTPONES: [(&str, &str); 3] = [
    ("#[ignore", "a test runs or is removed"),
    ("todo!(", "finish it, or leave it out"),
    ("unimplemented!(", "finish it, or leave it out"),
];

/// In Rust: what hides a warning for ever.
const HIDES: [&str; 2] = ["#[allow(", "#![allow("];

/// Code that macros write cannot know which lints it meets, and `expect` wants to know.
const MACROS: &str = "guest-sdk/rust/macros/";

/// In any file: notes to self.
const NOTES: [&str; 3] = ["TODO", "FIXME", "XXX"];

/// In any file: folders that exist on one machine only.
const MACHINES: [&str; 2] = ["/root/", "/work/"];

/// These rules name what they look for.
const EXEMPT: &str = "xtask/src/tidy/";

pub(super) fn check(source: &Source, findings: &mut Vec<Finding>) {
    if source.path.starts_with(EXEMPT) || source.path == "Cargo.lock" {
        return;
    }
    for (line, text) in (1..).zip(source.text.lines()) {
        let mut report = |what: String| findings.push(Finding::new(source, line, what));
        if source.is_rust() {
            for (word, instead) in POSTPONES {
                if text.contains(word) {
                    report(format!("`{word}`: {instead}"));
                }
            }
            for word in HIDES {
                if text.contains(word) && !source.path.starts_with(MACROS) {
                    report(format!("`{word}`: `expect` it, and give the reason"));
                }
            }
        }
        for note in NOTES {
            if has_word(text, note) {
                report(format!("`{note}`: do it, or file an issue"));
            }
        }
        for folder in MACHINES {
            if has_path(text, folder) {
                report(format!("`{folder}` is a folder of one machine"));
            }
        }
    }
}

/// Whether the word stands alone in the text.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|after| after.chars().next());
        ![before, after].into_iter().flatten().any(|c| c.is_alphanumeric() || c == '_')
    })
}

/// Whether a path that starts with the folder is in the text, rather than one that contains it.
fn has_path(text: &str, folder: &str) -> bool {
    text.match_indices(folder).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || "._-~})*".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    fn findings(path: &str, text: &str) -> usize {
        let mut findings = Vec::new();
        check(&source(path, text), &mut findings);
        findings.len()
    }

    #[test]
    fn postponed_work_is_found() {
        assert_eq!(findings("a.rs", "#[ignore = \"slow\"]\nfn f() { todo!() }\n"), 2);
        assert_eq!(findings("a.rs", "#[allow(dead_code)]\n// FIXME: later\n"), 2);
        assert_eq!(findings("a.md", "TODO: write this\n"), 1);
    }

    #[test]
    fn words_that_only_contain_a_note_are_fine() {
        assert_eq!(findings("a.rs", "// TODOS are a table, XXXL is a size\n"), 0);
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        assert_eq!(findings("a.md", "see /work/main/x\n"), 1);
        assert_eq!(findings("a.md", "see https://example.com/work/x and ./work/x\n"), 0);
    }
}
