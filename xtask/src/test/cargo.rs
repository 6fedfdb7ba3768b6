//! Running `cargo test` with its output shown and read at the same time.

use super::report::Report;
use crate::shell;
use anyhow::{Context, Result};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use toml::Value;

/// How often to look whether Cargo has ended while nothing is printed.
const LOOK: Duration = Duration::from_millis(200);

/// How many looks in a row may find Cargo ended and nothing printed before a process that a test
/// left behind is no longer waited for: it keeps our end of the pipe open.
const QUIET: u32 = 10;

/// Has Cargo run this executable of ours, with `announce`, in place of each test.
pub(super) fn announce(cargo: &mut Command) -> Result<()> {
    let this = std::env::current_exe().context("cannot find the executable that runs")?;
    let this = this.to_str().context("the path of the executable is no text")?;
    let runner = Value::Array(vec![this.into(), "announce".into()]);
    cargo.args(["--config", &format!("target.'cfg(all())'.runner={runner}")]);
    Ok(())
}

/// Runs Cargo to its end. Standard error goes where ours goes; standard output is shown by us, and
/// what it says about tests is in the report.
pub(super) fn run(mut cargo: Command) -> Result<(ExitStatus, Report)> {
    cargo.stdout(Stdio::piped());
    let mut child = cargo.spawn().context("cannot run cargo")?;
    let stdout = child.stdout.take().context("cargo has no output")?;
    let (tell, told) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut stdout = BufReader::new(stdout);
        let mut line = Vec::new();
        while stdout.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            if tell.send(std::mem::take(&mut line)).is_err() {
                break;
            }
        }
    });

    let mut report = Report::default();
    let mut quiet = 0;
    while quiet < QUIET {
        match told.recv_timeout(LOOK) {
            Ok(line) => {
                quiet = 0;
                // Somebody who closed our output still wants to know how the tests end.
                let _ = std::io::stdout().write_all(&line);
                report.line(String::from_utf8_lossy(&line).trim_end());
            }
            Err(RecvTimeoutError::Timeout) => {
                quiet = child.try_wait()?.map_or(0, |_| quiet + 1);
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    report.end();
    if quiet < QUIET {
        let _ = reader.join();
    } else {
        shell::say("a process that a test started is still there, and is not waited for");
    }
    Ok((child.wait().context("cannot wait for cargo")?, report))
}
