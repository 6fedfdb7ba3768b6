//! Running programs, and saying so.

use anyhow::{Context, Result, ensure};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Says what is being done.
pub(crate) fn say(what: &str) {
    eprintln!("xtask: {what}");
}

/// Runs a command to its end with its output shown, and fails when it does. Says the command
/// first, and how long it took after.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = line(command);
    say(&line);
    let start = Instant::now();
    let status = command.status().with_context(|| format!("cannot run `{line}`"))?;
    say(&format!("{:.1} s, {status}", start.elapsed().as_secs_f64()));
    ensure!(status.success(), "`{line}` failed ({status})");
    Ok(())
}

/// The standard output of a command that must succeed.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let line = line(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run `{line}`"))?;
    ensure!(output.status.success(), "`{line}` failed ({})", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The command as one would type it.
pub(crate) fn line(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    let name = program.rsplit('/').next().unwrap_or(&program).to_owned();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once(name).chain(arguments).collect::<Vec<_>>().join(" ")
}
