//! Where SQL may be, and how it introduces itself.

use super::{Finding, Source};

/// The crate that owns every statement, the one that makes databases for tests, and those that look
/// at a database from outside: the ledger of the chaos suite must not trust what it checks, and a
/// benchmark asks Postgres for the size of its log.
const OWNERS: [&str; 4] =
    ["host/crates/store/", "host/crates/testkit/", "chaos/", "bench/src/recovery/"];

/// How a statement starts. Upper case, as all of ours are, so that prose is not taken for one.
const STARTS: [&str; 11] = [
    "SELECT ",
    "INSERT INTO ",
    "UPDATE ",
    "DELETE FROM ",
    "WITH ",
    "CREATE ",
    "ALTER ",
    "DROP ",
    "TRUNCATE ",
    "NOTIFY ",
    "LISTEN ",
];

pub(super) fn check(source: &Source, findings: &mut Vec<Finding>) {
    if source.is_sql() && !source.text.starts_with("-- ") {
        let what = "starts without a comment: parameters, index used, why this shape";
        findings.push(Finding::new(source, 1, what));
    }
    let owned = OWNERS.iter().any(|owner| source.path.starts_with(owner));
    // Tests look at rows, through the connection that the testkit hands out.
    let exempt = source.path.contains("/tests/") || source.path.starts_with("xtask/src/tidy/");
    if !source.is_rust() || owned || exempt {
        return;
    }
    for (at, _) in source.text.match_indices('"') {
        let literal = source.text.get(at + 1..).unwrap_or_default().trim_start();
        if STARTS.iter().any(|start| literal.starts_with(start)) {
            let line = source.text.get(..at).unwrap_or_default().lines().count();
            findings.push(Finding::new(source, line, "SQL outside of the store"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let mut findings = Vec::new();
        check(&source(path, text), &mut findings);
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn statements_are_found_outside_of_the_store_only() {
        let text = "fn f() {\n    query(\"SELECT 1\");\n    query(r\"\n        UPDATE job\");\n}\n";
        assert_eq!(lines("host/crates/runner/src/a.rs", text), [2, 3]);
        assert!(lines("host/crates/store/src/a.rs", text).is_empty());
    }

    #[test]
    fn prose_is_not_sql() {
        assert!(lines("host/src/a.rs", "\"Select a job\"; \"UPDATED\"; // SELECT it\n").is_empty());
    }

    #[test]
    fn a_statement_introduces_itself() {
        assert_eq!(lines("a.sql", "SELECT 1;\n"), [1]);
        assert!(lines("a.sql", "-- The answer.\nSELECT 1;\n").is_empty());
    }
}
