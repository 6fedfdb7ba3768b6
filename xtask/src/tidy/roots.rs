//! What `lib.rs` holds: the list of modules and what is known by a shorter name.

use super::{Finding, Source};

/// How an item may start. An alias is one more name for something, as a re-export is.
const ITEMS: [&str; 11] = [
    "mod ",
    "pub mod ",
    "pub(crate) mod ",
    "use ",
    "pub use ",
    "pub(crate) use ",
    "type ",
    "pub type ",
    "extern crate ",
    "#[",
    "#![",
];

/// Handlers are one file each, to be read from top to bottom. The exports of a macro crate have
/// to be in its root; they only call its modules.
const EXEMPT: [&str; 2] = ["examples/", "guest-sdk/rust/macros/"];

pub(super) fn check(source: &Source, findings: &mut Vec<Finding>) {
    let root = source.path.ends_with("/src/lib.rs");
    if !root || EXEMPT.iter().any(|exempt| source.path.starts_with(exempt)) {
        return;
    }
    let mut depth = 0_usize;
    let mut doctest = false;
    for (line, text) in (1..).zip(source.text.lines()) {
        let code = text.split("//").next().unwrap_or_default().trim();
        let closes = code.starts_with('}') || code.starts_with(']') || code.starts_with(')');
        if depth == 0 && !code.is_empty() && !closes {
            let known = ITEMS.iter().any(|item| code.starts_with(item));
            if known && code.contains("mod ") && code.ends_with('{') {
                // A list within the list. Its end looks like any other.
                continue;
            }
            // What exists for a test of documentation is no part of the crate.
            doctest |= code == "#[cfg(doctest)]";
            let for_doctest = doctest && !code.starts_with("#[");
            doctest &= !for_doctest;
            if !known && !for_doctest {
                let what = "lib.rs lists modules and re-exports, nothing else";
                findings.push(Finding::new(source, line, what));
            }
        }
        for c in code.chars() {
            match c {
                '{' | '(' | '[' => depth += 1,
                '}' | ')' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let mut findings = Vec::new();
        check(&source("host/crates/core/src/lib.rs", text), &mut findings);
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn modules_and_reexports_are_fine() {
        let text = "//! Words.\n\npub mod a;\n#[cfg(test)]\nmod b;\n\npub use a::{\n    One,\n};\n\
                    /// A point.\npub type Time = u64;\n\
                    #[cfg(doctest)]\n#[doc = \"examples\"]\nstruct Readme;\n\
                    pub mod private {\n    pub use crate::a::Three;\n}\n";
        assert_eq!(lines(text), [0_usize; 0]);
    }

    #[test]
    fn anything_else_is_found_once() {
        assert_eq!(lines("mod a;\npub fn f() {\n    g();\n}\n"), [2]);
        assert_eq!(lines("mod tests {\n    fn f() {}\n}\n"), [2]);
    }
}
