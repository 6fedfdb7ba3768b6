//! What a run of the tests came to, read from what the tests print.

use super::announce::HERE;
use std::collections::HashSet;

/// Which tests passed, and how many did not.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// `package::target` of those tests whose lines are being read.
    target: Option<String>,
    /// The tests that passed: `package::target::module::name`.
    names: HashSet<String>,
    /// How many tests passed, those in documents included.
    passed: u64,
    failed: u64,
    /// The executables that ended before they said how many passed.
    cut_short: Vec<String>,
}

impl Report {
    /// Reads the next line, without the break at its end.
    pub(super) fn line(&mut self, line: &str) {
        if let Some(target) = line.strip_prefix(HERE) {
            self.end();
            self.target = Some(target.trim().to_owned());
        } else if let Some(counts) = line.strip_prefix("test result: ") {
            self.passed += count(counts, "passed");
            self.failed += count(counts, "failed");
            self.target = None;
        } else if let (Some(target), Some(name)) = (&self.target, passed(line)) {
            self.names.insert(format!("{target}::{name}"));
        }
    }

    /// Whatever has not told its result by now will not do so any more.
    pub(super) fn end(&mut self) {
        self.cut_short.extend(self.target.take());
    }

    /// Whether a test, by its whole name, ran and passed.
    pub(crate) fn has_passed(&self, test: &str) -> bool {
        self.names.contains(test)
    }

    /// Whether the names of tests were read at all.
    pub(super) fn has_names(&self) -> bool {
        !self.names.is_empty()
    }

    pub(super) fn cut_short(&self) -> &[String] {
        &self.cut_short
    }

    /// `12 passed, 1 failed`. An executable that was cut short counts as one that failed.
    pub(super) fn summary(&self) -> String {
        let cut_short = u64::try_from(self.cut_short.len()).unwrap_or(u64::MAX);
        format!("{} passed, {} failed", self.passed, self.failed.saturating_add(cut_short))
    }
}

/// The name in the line of a test that passed: `test module::name ... ok`.
fn passed(line: &str) -> Option<&str> {
    let name = line.strip_prefix("test ")?.strip_suffix(" ... ok")?;
    Some(name.strip_suffix(" - should panic").unwrap_or(name))
}

/// The number in front of a word: `ok. 12 passed; 0 failed; ...`.
fn count(counts: &str, word: &str) -> u64 {
    let words: Vec<_> = counts.split([' ', ';', '.']).filter(|word| !word.is_empty()).collect();
    let pair = words.windows(2).find(|pair| pair.last() == Some(&word));
    pair.and_then(|pair| pair.first()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(output: &str) -> Report {
        let mut report = Report::default();
        output.lines().for_each(|line| report.line(line));
        report.end();
        report
    }

    /// What Cargo 1.95 prints on standard output for a library, a file in `tests` and documents.
    const OUTPUT: &str = "
xtask: tests of cofferdam-core::lib

running 3 tests
test fail::tests::a_drain_costs_nothing ... ok
test retry::tests::text_forms_come_back - should panic ... ok
test units::tests::no_text_panics ... ignored, too slow

test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s


xtask: tests of cofferdam-store::store

running 2 tests
test rescue::a_lease_that_both_sweeps_want_ends_once ... FAILED
test rescue::a_sweep_takes_no_more_than_its_batch ... ok

failures:

---- rescue::a_lease_that_both_sweeps_want_ends_once stdout ----

thread 'rescue::a_lease_that_both_sweeps_want_ends_once' (412) panicked at host/x.rs:1:1:
there are 2 of them


failures:
    rescue::a_lease_that_both_sweeps_want_ends_once

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.85s


running 2 tests
test guest-sdk/rust/src/lib.rs - (line 3) - compile ... ok
test guest-sdk/rust/src/context.rs - context::Context::info (line 40) ... ok

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.37s

all doctests ran in 0.61s; merged doctests compilation took 0.22s
";

    #[test]
    fn tests_are_named_by_package_target_and_module() {
        let report = read(OUTPUT);
        assert!(report.has_passed("cofferdam-core::lib::fail::tests::a_drain_costs_nothing"));
        assert!(report.has_passed("cofferdam-core::lib::retry::tests::text_forms_come_back"));
        let store = "cofferdam-store::store::rescue";
        assert!(report.has_passed(&format!("{store}::a_sweep_takes_no_more_than_its_batch")));
        assert!(!report.has_passed(&format!("{store}::a_lease_that_both_sweeps_want_ends_once")));
        assert!(!report.has_passed("cofferdam-core::lib::units::tests::no_text_panics"));
        assert_eq!(report.summary(), "5 passed, 1 failed");
        assert!(report.cut_short().is_empty());
    }

    #[test]
    fn an_executable_that_dies_has_failed() {
        let output = "xtask: tests of a::lib\n\nrunning 2 tests\ntest one ... ok\n\
                      xtask: tests of b::lib\n\nrunning 0 tests\n\n\
                      test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\
                      xtask: tests of c::c\n\nrunning 1 test\n";
        let report = read(output);
        assert_eq!(report.cut_short(), ["a::lib", "c::c"]);
        assert_eq!(report.summary(), "0 passed, 2 failed");
    }
}
