//! The executable: arguments, configuration, wiring and printing. What the platform does is in
//! the crates below.

mod app;
mod cli;
mod client;
mod commands;
mod config;
mod env;
mod error;
mod exit;
mod host;
mod input;
mod key_file;
#[cfg(test)]
mod pages;
mod printer;
mod settings;
mod signals;
mod suggest;
mod telemetry;
mod text;
mod usage;
mod value;
mod wire;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    app::run(&args).into()
}
