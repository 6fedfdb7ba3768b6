//! The totals.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Totals of some orders. Amounts are in hundredths, so that adding them is exact.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// How many orders there are.
    pub rows: u64,
    /// The sum of all amounts.
    pub total_cents: u64,
    /// The smallest amount, when there is one.
    pub min_cents: Option<u64>,
    /// The largest amount, when there is one.
    pub max_cents: Option<u64>,
    /// The mean amount, rounded to the nearest hundredth, halves up.
    pub mean_cents: Option<u64>,
    /// Rows and sum of each region, by name.
    pub regions: BTreeMap<String, Region>,
}

/// Totals of one region.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// How many orders there are.
    pub rows: u64,
    /// The sum of their amounts.
    pub total_cents: u64,
}

impl Report {
    /// Adds an order. `None` when a sum no longer fits.
    pub(crate) fn add(&mut self, region: &str, cents: u64) -> Option<()> {
        self.rows += 1;
        self.total_cents = self.total_cents.checked_add(cents)?;
        self.min_cents = Some(self.min_cents.map_or(cents, |min| min.min(cents)));
        self.max_cents = Some(self.max_cents.map_or(cents, |max| max.max(cents)));
        if !self.regions.contains_key(region) {
            self.regions.insert(region.to_owned(), Region::default());
        }
        let totals = self.regions.get_mut(region)?;
        totals.rows += 1;
        totals.total_cents += cents;
        Some(())
    }

    /// The report with what can only be said at the end.
    #[must_use]
    pub(crate) fn finished(mut self) -> Self {
        let half = self.rows / 2;
        self.mean_cents = self.total_cents.saturating_add(half).checked_div(self.rows);
        self
    }
}
