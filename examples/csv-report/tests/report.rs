//! The report on real files, against answers that were found in another way.

use cofferdam_guest::Retry;
use cofferdam_guest::testing::{self, Job};
use csv_report::{Region, Report, csv_report, generate, orders};
use std::collections::BTreeMap;

/// The totals of the orders themselves, without a CSV file in between.
fn expected(seed: u64, rows: usize) -> Report {
    let orders: Vec<_> = orders(seed, rows).collect();
    let total: u64 = orders.iter().map(|order| order.cents).sum();
    let mut regions: BTreeMap<String, Region> = BTreeMap::new();
    for order in &orders {
        let region = regions.entry(order.region.to_owned()).or_default();
        region.rows += 1;
        region.total_cents += order.cents;
    }
    Report {
        rows: rows as u64,
        total_cents: total,
        min_cents: orders.iter().map(|order| order.cents).min(),
        max_cents: orders.iter().map(|order| order.cents).max(),
        mean_cents: Some((total * 2 + rows as u64) / (rows as u64 * 2)),
        regions,
    }
}

#[test]
fn a_file_of_25_000_rows_is_added_up() {
    let run = testing::run(csv_report, generate(7, 25_000).as_bytes());

    assert_eq!(run.result.unwrap(), expected(7, 25_000));
    // And it said where it was, ever further, and kept its place twice.
    assert_eq!(run.progress.len(), 25);
    assert!(run.progress.is_sorted_by_key(|(percent, _)| *percent));
    assert_eq!(run.progress.last().unwrap(), &(100, "25000 rows".to_owned()));
    assert_eq!(run.checkpoints.len(), 2);
}

/// The numbers were found with Python's `csv` module, from the file that `--example generate`
/// printed.
#[test]
fn another_program_finds_the_same() {
    let run = Job::new().dispatch("csv-report", generate(7, 10_000));
    let report: serde_json::Value = serde_json::from_slice(&run.result.unwrap()).unwrap();
    assert_eq!(report, serde_json::from_str::<serde_json::Value>(FOUND_BY_PYTHON).unwrap());
}

const FOUND_BY_PYTHON: &str = r#"{
    "rows": 10000,
    "total_cents": 2475815832,
    "min_cents": 12,
    "max_cents": 499863,
    "mean_cents": 247582,
    "regions": {
        "east": {
            "rows": 2029,
            "total_cents": 507502568
        },
        "north": {
            "rows": 1931,
            "total_cents": 474323943
        },
        "overseas": {
            "rows": 1983,
            "total_cents": 501609593
        },
        "south": {
            "rows": 2049,
            "total_cents": 491774763
        },
        "west": {
            "rows": 2008,
            "total_cents": 500604965
        }
    }
}"#;

#[test]
fn the_next_attempt_goes_on_where_the_last_one_stopped() {
    // Given an attempt that got as far as its second checkpoint,
    let file = generate(11, 25_000);
    let first = testing::run(csv_report, file.as_bytes());
    let checkpoint = first.checkpoints.last().unwrap().clone();

    // when the next one starts from there,
    let second = Job::new().attempt(2).last_checkpoint(checkpoint).run(csv_report, file.as_bytes());

    // then it reads only the rest, and finds the same.
    assert_eq!(second.result.unwrap(), first.result.unwrap());
    assert_eq!(second.logs[0].message, "going on after 20000 rows");
    assert_eq!(second.progress.len(), 5);
}

#[test]
fn a_file_without_rows_has_no_mean() {
    let report = testing::run(csv_report, b"region,amount\n".as_slice()).result.unwrap();
    assert_eq!(report, Report::default());
}

#[test]
fn a_bad_file_is_refused_with_its_line_and_not_tried_again() {
    for (file, code, part) in [
        ("region,amount\nnorth,1.00\nsouth,much\n", "bad-row", "line 3: `much` is not an amount"),
        ("region,amount\nnorth\n", "bad-csv", "line: 2"),
        ("area,amount\nnorth,1.00\n", "bad-csv", "missing field `region`"),
    ] {
        let error = testing::run(csv_report, file.as_bytes()).result.unwrap_err();
        assert_eq!((error.code(), error.advice()), (code, Retry::Permanent));
        assert!(error.message().contains(part), "{}", error.message());
    }
}
