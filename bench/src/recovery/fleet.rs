//! Worker processes on a database.

use anyhow::{Context as _, Result, bail};
use cofferdam_core::ids::WorkerId;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A worker process. Dropping it kills it.
pub(crate) struct Process {
    child: Child,
    pub(crate) id: WorkerId,
}

impl Process {
    /// Starts one with the default settings and these variables, and waits until it works.
    pub(crate) fn start(
        executable: &Path,
        database: &str,
        variables: &[(&str, &str)],
    ) -> Result<Self> {
        let mut child = Command::new(executable)
            .args(["worker", "--json", "--slots", "4", "--database-url", database])
            .envs(variables.iter().copied())
            .env("COFFERDAM_LOG", "error")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", executable.display()))?;
        let Some(stdout) = child.stdout.take() else { bail!("the worker has no output") };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let said: Value = serde_json::from_str(&line).context("the worker did not start")?;
        let id = said.get("worker").and_then(Value::as_str).context("the worker has no id")?;
        let id = id.parse().context("the worker's id is none")?;
        Ok(Self { child, id })
    }

    /// Ends it without giving it a chance to say anything.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It is gone already, or has to go.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
