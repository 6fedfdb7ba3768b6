//! Samples, and the report that they end in.

use anyhow::Result;
use serde_json::{Value, json};

/// The value below which `share` (0.0 to 1.0) of the samples lie, by the nearest rank.
pub(crate) fn percentile(samples: &[f64], share: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the rank lies between 0 and the number of samples"
    )]
    let rank = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len().max(1));
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}

/// The middle of the samples.
pub(crate) fn median(samples: &[f64]) -> f64 {
    percentile(samples, 0.5)
}

/// Figures with what was hoped for.
#[derive(Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
}

struct Row {
    name: String,
    value: f64,
    unit: &'static str,
    /// The largest value that is still as designed.
    bound: Option<f64>,
}

impl Report {
    /// Adds a figure.
    pub(crate) fn add(
        &mut self,
        name: impl Into<String>,
        value: f64,
        unit: &'static str,
        bound: Option<f64>,
    ) {
        self.rows.push(Row { name: name.into(), value, unit, bound });
    }

    /// Prints a line for each figure.
    #[expect(clippy::print_stdout, reason = "the report is what this program is for")]
    pub(crate) fn print(&self) {
        for row in &self.rows {
            let verdict = match row.bound {
                Some(bound) if row.value <= bound => format!("within {bound} {}", row.unit),
                Some(bound) => format!("OVER {bound} {}", row.unit),
                None => String::new(),
            };
            println!("{:<58} {:>10.2} {:<6} {verdict}", row.name, row.value, row.unit);
        }
    }

    /// Whether every figure that has a bound is within it.
    pub(crate) fn is_within_bounds(&self) -> bool {
        self.rows.iter().all(|row| row.bound.is_none_or(|bound| row.value <= bound))
    }

    /// The figures for programs.
    pub(crate) fn to_json(&self) -> Result<String> {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| {
                json!({"name": row.name, "value": row.value, "unit": row.unit, "bound": row.bound})
            })
            .collect();
        Ok(serde_json::to_string_pretty(&rows)?)
    }
}
