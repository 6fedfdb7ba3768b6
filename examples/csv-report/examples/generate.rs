//! Prints a CSV file of orders: `cargo run -p csv-report --example generate -- SEED ROWS`.

use std::io::{self, Write as _};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("usage: generate SEED ROWS");
    let (seed, rows) = (next()?.parse()?, next()?.parse()?);
    io::stdout().write_all(csv_report::generate(seed, rows).as_bytes())?;
    Ok(())
}
