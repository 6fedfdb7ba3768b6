//! One sweep: its timer, its runs, and what is known of them.

use super::leader::Leading;
use crate::error::chain;
use crate::stage::Stage;
use cofferdam_store::{Store, StoreError, SweepReport};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// What one run of a sweep did.
#[derive(Debug, Default)]
pub(crate) struct Swept {
    /// How many rows it moved.
    pub(crate) rows: usize,
    /// Whether jobs may have become claimable.
    pub(crate) wakes: bool,
    /// Of leases that were rescued: how long each had not been beaten.
    pub(crate) recovery: Vec<Duration>,
}

impl Swept {
    /// Moved rows that no claim waits for.
    pub(crate) fn quietly(rows: usize) -> Self {
        Self { rows, ..Self::default() }
    }

    /// Moved jobs to where they can be claimed.
    pub(crate) fn waking(rows: usize) -> Self {
        Self { rows, wakes: rows > 0, recovery: Vec::new() }
    }
}

/// What the sweeps of this worker did since it was last reported.
#[derive(Debug, Default)]
pub(crate) struct Tallies(Mutex<BTreeMap<&'static str, Tally>>);

/// What one of them did, and when its last run began.
#[derive(Debug)]
struct Tally {
    began: Instant,
    report: SweepReport,
}

impl Tally {
    fn new(name: &'static str) -> Self {
        let report = SweepReport {
            name,
            ago: Duration::ZERO,
            took: Duration::ZERO,
            last_rows: 0,
            runs: 0,
            rows: 0,
            failures: 0,
            error: None,
            recovery: Vec::new(),
        };
        Self { began: Instant::now(), report }
    }
}

impl Tallies {
    /// Takes note of a run that began at `began`.
    pub(crate) fn note(
        &self,
        name: &'static str,
        began: Instant,
        result: &Result<Swept, StoreError>,
    ) {
        let mut tallies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let tally = tallies.entry(name).or_insert_with(|| Tally::new(name));
        tally.began = began;
        let report = &mut tally.report;
        report.runs += 1;
        report.took = began.elapsed();
        match result {
            Ok(swept) => {
                let rows = u64::try_from(swept.rows).unwrap_or(u64::MAX);
                report.last_rows = rows;
                report.rows = report.rows.saturating_add(rows);
                report.error = None;
                report.recovery.extend_from_slice(&swept.recovery);
            }
            Err(error) => {
                report.last_rows = 0;
                report.failures += 1;
                report.error = Some(chain(error));
            }
        }
    }

    /// What has been noted since the last call.
    pub(crate) fn take(&self) -> Vec<SweepReport> {
        let mut tallies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let tallies = std::mem::take(&mut *tallies);
        let reports = tallies.into_values();
        reports.map(|tally| SweepReport { ago: tally.began.elapsed(), ..tally.report }).collect()
    }
}

/// What all sweeps of a worker share.
pub(crate) struct Sweeper<'a> {
    pub(crate) store: Store,
    pub(crate) leading: Leading,
    pub(crate) tallies: Arc<Tallies>,
    /// Told about jobs that became claimable.
    pub(crate) wake: Arc<Notify>,
    /// Where the sweeps run.
    pub(crate) stage: &'a Stage,
}

impl Sweeper<'_> {
    /// Runs a sweep every `interval` while this worker leads. The first run comes as soon as it
    /// leads: what was left undone meanwhile does not wait any longer.
    pub(crate) fn start<F, R>(&self, name: &'static str, interval: Duration, run_once: F)
    where
        F: Fn(Store) -> R + Send + 'static,
        R: Future<Output = Result<Swept, StoreError>> + Send + 'static,
    {
        let sweep = Sweep {
            name,
            interval,
            store: self.store.clone(),
            leading: self.leading.clone(),
            tallies: self.tallies.clone(),
            wake: self.wake.clone(),
        };
        self.stage.spawn(|stop| async move { sweep.run(stop, run_once).await });
    }
}

struct Sweep {
    name: &'static str,
    interval: Duration,
    store: Store,
    leading: Leading,
    tallies: Arc<Tallies>,
    wake: Arc<Notify>,
}

impl Sweep {
    async fn run<F, R>(&self, stop: CancellationToken, run_once: F)
    where
        F: Fn(Store) -> R,
        R: Future<Output = Result<Swept, StoreError>>,
    {
        let mut ticks = tokio::time::interval(self.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let next = async {
                ticks.tick().await;
                self.leading.begun().await;
            };
            if stop.run_until_cancelled(next).await.is_none() {
                return;
            }
            // A lead that has run out stays until it is renewed or lost.
            if self.leading.epoch().is_none() {
                continue;
            }
            let started = Instant::now();
            // What a stop interrupts is undone as a whole, and some other leader's to do.
            let run = stop.run_until_cancelled(run_once(self.store.clone()));
            let Some(result) = run.await else { return };
            self.tallies.note(self.name, started, &result);
            match result {
                Ok(swept) if swept.wakes => self.wake.notify_one(),
                Ok(_) => {}
                Err(error) => {
                    let (sweep, error) = (self.name, chain(&error));
                    warn!(sweep, error, "a sweep failed; it runs again");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_summed_until_they_are_reported() {
        // Given two runs that went well and one that did not,
        let tallies = Tallies::default();
        let now = Instant::now();
        tallies.note("promote", now, &Ok(Swept::waking(3)));
        tallies.note("promote", now, &Ok(Swept::waking(4)));
        tallies.note("promote", now, &Err(StoreError::Timeout(Duration::from_secs(1))));

        // when they are taken,
        let reports = tallies.take();

        // then all is there once, and the error is the last word.
        let [report] = reports.as_slice() else { panic!("{reports:?}") };
        assert_eq!((report.runs, report.rows, report.failures), (3, 7, 1));
        assert!(report.error.is_some());
        assert!(tallies.take().is_empty());
    }
}
