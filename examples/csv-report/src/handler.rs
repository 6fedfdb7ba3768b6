//! The handler: reads the rows, says how far it is, and goes on where an earlier attempt stopped.

use crate::report::Report;
use cofferdam_guest::{Context, Error, handler};
use csv::{Position, Reader, StringRecord};
use serde::{Deserialize, Serialize};
use std::io::Cursor;

/// Rows between two checkpoints. Each is a write to the database, so they are worth it only when
/// reading the rows again would take longer.
const CHECKPOINT_ROWS: u64 = 10_000;
/// Rows between two progress reports.
const PROGRESS_ROWS: u64 = 1_000;

/// One row. Other columns are left alone.
#[derive(Deserialize)]
struct Row<'a> {
    region: &'a str,
    amount: &'a str,
}

/// Where an attempt stopped.
#[derive(Debug, Serialize, Deserialize)]
struct Checkpoint {
    /// The byte at which the next row starts.
    byte: u64,
    /// The line of that byte, for error messages.
    line: u64,
    /// The totals of the rows before it.
    report: Report,
}

/// Adds up a CSV file of orders: rows, total, smallest, largest and mean amount, and the totals
/// of each region.
///
/// The input is the file itself, with a header that names at least `region` and `amount`. The
/// output is JSON, in hundredths.
#[handler(deadline = "1m", memory = "64MiB")]
pub fn csv_report(ctx: &Context, file: &[u8]) -> Result<Report, Error> {
    let mut reader = Reader::from_reader(Cursor::new(file));
    let headers = reader.headers().map_err(bad_csv)?.clone();
    let mut report = Report::default();
    if let Some(checkpoint) = ctx.last_checkpoint_json::<Checkpoint>()? {
        let mut position = Position::new();
        position.set_byte(checkpoint.byte).set_line(checkpoint.line);
        reader.seek(position)?;
        report = checkpoint.report;
        ctx.info(format!("going on after {} rows", report.rows));
    }

    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(bad_csv)? {
        let line = record.position().map_or(0, Position::line);
        let row: Row<'_> = record.deserialize(Some(&headers)).map_err(bad_csv)?;
        let cents = cents(row.amount).ok_or_else(|| {
            bad_row(line, &format!("`{}` is not an amount such as 12.50", row.amount))
        })?;
        report.add(row.region, cents).ok_or_else(|| bad_row(line, "the sum is too large"))?;

        if report.rows.is_multiple_of(PROGRESS_ROWS) {
            let percent = reader.position().byte() * 100 / (file.len() as u64).max(1);
            ctx.progress(u8::try_from(percent).unwrap_or(100), format!("{} rows", report.rows));
        }
        if report.rows.is_multiple_of(CHECKPOINT_ROWS) {
            let position = reader.position();
            let (byte, line) = (position.byte(), position.line());
            ctx.checkpoint_json(&Checkpoint { byte, line, report: report.clone() })?;
        }
    }
    Ok(report.finished())
}

/// Reads `12.50` or `12` exactly: amounts of money are no floating-point numbers.
fn cents(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "00"));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if fraction.len() != 2 || !digits(whole) || !digits(fraction) {
        return None;
    }
    whole.parse::<u64>().ok()?.checked_mul(100)?.checked_add(fraction.parse().ok()?)
}

/// The file is what it is: no other attempt reads it better.
fn bad_csv(error: csv::Error) -> Error {
    Error::from(error).into_permanent().with_code("bad-csv")
}

fn bad_row(line: u64, problem: &str) -> Error {
    Error::permanent(format!("line {line}: {problem}")).with_code("bad-row")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_exactly() {
        assert_eq!(cents("0.01"), Some(1));
        assert_eq!(cents("4999.99"), Some(499_999));
        assert_eq!(cents("12"), Some(1_200));
        for text in ["", ".50", "-1.00", "1.5", "1.505", "1,50", "1e3", "99999999999999999999.00"] {
            assert_eq!(cents(text), None, "{text}");
        }
    }
}
