//! What came of a run.

use crate::clock::Nanos;
use crate::schedule::Kind;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::time::Duration;

/// See the module's documentation. Durations are in milliseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// What the run was made from.
    pub seed: u64,
    /// How long faults were injected, in seconds.
    pub seconds: f64,
    /// How long it took from the last fault until every job had ended, in seconds.
    pub settled_seconds: f64,
    /// Jobs by how they were planned and how they ended.
    pub jobs: BTreeMap<String, BTreeMap<String, usize>>,
    /// Attempts that left a trace.
    pub attempts: usize,
    /// Traces in all.
    pub effects: usize,
    /// Faults by kind.
    pub faults: BTreeMap<String, usize>,
    /// Kinds that could not be injected on this machine, and why.
    pub skipped: BTreeMap<String, String>,
    /// Attempts that were lost, by the code that says how that was found out.
    pub lost_attempts: BTreeMap<String, usize>,
    /// From the kill of a worker to the first trace of the next attempt, by the same code.
    pub restarts: BTreeMap<String, Percentiles>,
    /// Cancels by what came of them.
    pub cancels: BTreeMap<String, usize>,
    /// From the acknowledgement of a cancel to the last trace of the attempt.
    pub cancelled_after: Percentiles,
    /// How processes ended that nobody killed.
    pub exits: BTreeMap<String, usize>,
    /// Pairs of attempts of one job that ran at the same time.
    pub overlaps: usize,
    /// Accepted jobs that are nowhere.
    pub lost: usize,
    /// Everything that must not be so.
    pub violations: Vec<Violation>,
}

/// Something that must not be so.
#[derive(Clone, Debug, Serialize)]
pub struct Violation {
    /// What.
    pub what: String,
    /// Everything that is known of the job, line by line. Empty where it is about no job.
    pub history: Vec<String>,
}

/// A distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// Of how many.
    pub count: usize,
    /// Half of them are at most this.
    pub p50: f64,
    /// All but one in a hundred are at most this.
    pub p99: f64,
    /// All of them are at most this.
    pub max: f64,
}

impl Percentiles {
    /// Of durations in nanoseconds.
    pub fn of(mut nanos: Vec<Nanos>) -> Self {
        nanos.sort_unstable();
        let count = nanos.len();
        let at = |percent: usize| {
            let index = (count * percent).div_ceil(100).saturating_sub(1);
            let nanos = nanos.get(index).copied().unwrap_or(0);
            Duration::from_nanos(nanos.unsigned_abs()).as_secs_f64() * 1e3
        };
        Self { count, p50: at(50), p99: at(99), max: at(100) }
    }
}

impl fmt::Display for Percentiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, p50, p99, max } = self;
        write!(f, "{count}: p50 {p50:.0} ms, p99 {p99:.0} ms, max {max:.0} ms")
    }
}

impl Report {
    /// Whether everything was as it must be.
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }

    /// The kinds of faults that hit nothing, without those that could not be injected here.
    pub fn faults_that_never_came(&self) -> Vec<&'static str> {
        let told = |name: &str| self.faults.contains_key(name) || self.skipped.contains_key(name);
        Kind::ALL.map(Kind::name).into_iter().filter(|name| !told(name)).collect()
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for violation in &self.violations {
            let _ = writeln!(text, "VIOLATION: {}", violation.what);
            for line in &violation.history {
                let _ = writeln!(text, "    {line}");
            }
        }
        let (seconds, settled) = (self.seconds, self.settled_seconds);
        let _ = writeln!(
            text,
            "seed {}, {seconds:.0} s of faults, settled in {settled:.1} s",
            self.seed
        );
        let _ = writeln!(text, "jobs");
        for (plan, ends) in &self.jobs {
            let ends: Vec<_> = ends.iter().map(|(end, count)| format!("{count} {end}")).collect();
            let _ = writeln!(text, "  {plan}: {}", ends.join(", "));
        }
        let (attempts, effects) = (self.attempts, self.effects);
        let _ = writeln!(text, "  {attempts} attempts that left {effects} traces");
        for (title, counts) in [
            ("faults", &self.faults),
            ("lost attempts, by how it was found out", &self.lost_attempts),
            ("cancels", &self.cancels),
            ("ends of processes that nobody killed", &self.exits),
        ] {
            let _ = writeln!(text, "{title}");
            for (what, count) in counts {
                let _ = writeln!(text, "  {what}: {count}");
            }
        }
        for (kind, why) in &self.skipped {
            let _ = writeln!(text, "SKIPPED: {kind}: {why}");
        }
        let _ = writeln!(text, "from the kill of a worker to the first trace of the next attempt");
        for (path, percentiles) in &self.restarts {
            let _ = writeln!(text, "  {path}: {percentiles}");
        }
        let cancelled = &self.cancelled_after;
        let _ = writeln!(text, "from an accepted cancel to the last trace: {cancelled}");
        let (overlaps, lost, violations) = (self.overlaps, self.lost, self.violations.len());
        let _ = writeln!(text, "overlaps: {overlaps}, lost: {lost}, violations: {violations}");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_what_there_is() {
        assert_eq!(Percentiles::of(Vec::new()), Percentiles::default());
        let hundred = (1..=100).map(|ms| ms * 1_000_000).collect();
        let expected = Percentiles { count: 100, p50: 50.0, p99: 99.0, max: 100.0 };
        assert_eq!(Percentiles::of(hundred), expected);
    }
}
