//! Runs a private cluster until its standard input ends.
//!
//! `cargo run -p cofferdam-localpg --example private_postgres -- DIR [--temporary]` prints the
//! process of the server and the URL of a database. The tests kill it to see what is left.
#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use cofferdam_localpg::{Cluster, ClusterSettings};
use std::error::Error;
use std::io::Read;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let folder = arguments.next().ok_or("usage: private_postgres DIR [--temporary]")?;
    let settings = match arguments.next() {
        Some(_) => ClusterSettings::temporary(folder),
        None => ClusterSettings::new(folder),
    };
    let cluster = Cluster::open(&settings)?;
    cluster.create_database("kept")?;
    println!("{} {}", cluster.pid(), cluster.url("kept"));
    std::io::stdin().read_to_end(&mut Vec::new())?;
    cluster.stop()?;
    Ok(())
}
