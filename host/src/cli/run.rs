//! `run`.

use crate::input::{self, Input};
use crate::value;
use clap::Args;
use cofferdam_core::name::KindName;
use std::path::PathBuf;
use std::time::Duration;

/// `run`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
The output goes to standard output as the handler gave it. Its log, and a report of how the attempt
ended and what it used, go to standard error. A manifest `cofferdam.toml` beside FILE is read.
Checkpoints are reported and not kept: every run starts without one.
Ends with 0 when the handler succeeded, 1 when it returned an error, 4 when it trapped or hit a limit.

Examples:
  cofferdam run markdown.wasm --input @README.md
  cofferdam run thumbnail.wasm --input @photo.jpg --metadata width=64 --memory 64MiB > small.png
  cofferdam run wordcount.wasm --arg --top=3 --input - < book.txt")]
pub(crate) struct RunArgs {
    /// The WebAssembly component
    pub(crate) file: PathBuf,
    /// Which of its kinds; may be left out when it has just one
    #[arg(long, value_name = "KIND", value_parser = value::kind)]
    pub(crate) kind: Option<KindName>,
    /// The input: JSON, @FILE for the bytes of a file, - for standard input
    #[arg(long, short, value_name = "JSON|@FILE|-", value_parser = input::parse, allow_hyphen_values = true)]
    pub(crate) input: Option<Input>,
    /// The manifest [default: cofferdam.toml beside FILE, if there is one]
    #[arg(long, value_name = "FILE")]
    pub(crate) manifest: Option<PathBuf>,
    /// Wall-clock time of the attempt, such as 30s
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    pub(crate) deadline: Option<Duration>,
    /// Fuel, roughly one unit an instruction
    #[arg(long, value_name = "N", value_parser = value::fuel)]
    pub(crate) fuel: Option<u64>,
    /// Linear memory, such as 64MiB
    #[arg(long, value_name = "SIZE", value_parser = value::size)]
    pub(crate) memory: Option<u64>,
    /// An argument of a command job; may be repeated
    #[arg(long = "arg", value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
    /// An environment variable of a command job; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = value::pair)]
    pub(crate) env: Vec<(String, String)>,
    /// The number of the attempt that the handler is told
    #[arg(long, value_name = "N", value_parser = value::number::<u32>, default_value = "1")]
    pub(crate) attempt: u32,
    /// Metadata that the handler sees; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = value::pair)]
    pub(crate) metadata: Vec<(String, String)>,
}
