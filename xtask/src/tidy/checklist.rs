//! The page of the checklist, and the tests that its source names.

use super::{Finding, Source};
use crate::checklist::{self, PAGE, SOURCE};

pub(super) fn check(sources: &[Source], findings: &mut Vec<Finding>) {
    let mut report =
        |path: &str, what| findings.push(Finding { path: path.to_owned(), line: 0, what });
    match checklist::make(sources) {
        Ok(page) if sources.iter().any(|source| source.path == PAGE && source.text == page) => {}
        Ok(_) => report(PAGE, format!("is not what {SOURCE} says: run `cargo xtask checklist`")),
        Err(problems) => problems.into_iter().for_each(|problem| report(SOURCE, problem)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;
    use std::fmt::Write as _;

    /// Every row, all later but for one that names a test.
    fn rows() -> String {
        let mut text = "[[group]]\ntitle = \"All\"\n".to_owned();
        for number in 1..=108 {
            let rest = match number {
                1 => "status = \"done\"\ntests = [\"a::t::it_holds\"]",
                _ => "status = \"later\"\nreason = \"not yet\"",
            };
            let _ = writeln!(text, "[[group.row]]\nid = \"S{number}\"\nmeans = \"It is.\"\n{rest}");
        }
        text
    }

    fn findings(page: &str, test: &str) -> Vec<String> {
        let sources = [
            source("a/Cargo.toml", "[package]\nname = \"a\"\n"),
            source("a/tests/t.rs", test),
            source(SOURCE, &rows()),
            source(PAGE, page),
        ];
        let mut findings = Vec::new();
        check(&sources, &mut findings);
        findings.into_iter().map(|finding| format!("{}: {}", finding.path, finding.what)).collect()
    }

    const TEST: &str = "#[test]\nfn it_holds() {}\n";

    /// S108: what is claimed has a test, and the page claims what its source does.
    #[test]
    fn a_page_that_is_not_what_its_source_says_is_found() {
        let sources = [
            source("a/Cargo.toml", "[package]\nname = \"a\"\n"),
            source("a/tests/t.rs", TEST),
            source(SOURCE, &rows()),
        ];
        let page = checklist::make(&sources).unwrap();
        assert_eq!(findings(&page, TEST), [""; 0]);
        let changed = page.replace("It is.", "It was.");
        let expected = "docs/checklist.md: is not what docs/checklist.toml says: run `cargo xtask \
                        checklist`";
        assert_eq!(findings(&changed, TEST), [expected]);
    }

    /// S108: a row cannot name a test that nobody wrote.
    #[test]
    fn a_test_that_nobody_wrote_is_found() {
        let expected = "docs/checklist.toml: S1: a::t::it_holds: is not in a/tests/t.rs";
        assert_eq!(findings("", "fn it_holds() {}\n"), [expected]);
    }
}
