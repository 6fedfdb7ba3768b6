//! `cofferdam dev` as a child process, and its command line.

use crate::{guests, shell, workspace};
use anyhow::{Context, Result, bail, ensure};
use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// What `cofferdam dev` says, in the demo's folder.
const LOG: &str = "cofferdam.log";

/// The platform, in a folder of its own.
pub(crate) struct Platform {
    folder: PathBuf,
    server: String,
    dev: Child,
    kept: bool,
}

impl Platform {
    /// Starts the platform and waits until it answers.
    pub(crate) fn start(bound: Duration) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("cofferdam-demo-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        // The port is free now, and nobody else asks for it in the moment until it is taken.
        let listen = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let data = folder.join("data");
        shell::say(&format!("cofferdam dev --data-dir {} --listen {listen}", data.display()));
        let dev = Command::new(executable())
            .args(["dev", "--listen", &listen, "--data-dir"])
            .arg(&data)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(folder.join(LOG))?)
            .spawn()
            .context("cannot start cofferdam")?;
        let mut platform = Self { folder, server: format!("http://{listen}"), dev, kept: false };
        platform.wait(bound)?;
        Ok(platform)
    }

    fn wait(&mut self, bound: Duration) -> Result<()> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.dev.try_wait()? {
                let log = std::fs::read_to_string(self.folder.join(LOG))?;
                bail!("`cofferdam dev` ended ({status}) before it answered:\n{log}");
            }
            if self.command(&["queue", "list"]).output()?.status.success() {
                return Ok(());
            }
            ensure!(start.elapsed() < bound, "`cofferdam dev` does not answer");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// A folder for the demo's files.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A command of the CLI.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(executable());
        command.args(arguments).args(["--server", &self.server]).stdin(Stdio::null());
        command
    }

    /// Runs a command of the CLI that must succeed, and returns what it printed.
    pub(crate) fn read(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let output = self.command(arguments).output()?;
        ensure!(output.status.success(), "{}", told(arguments, &output));
        Ok(output.stdout)
    }

    /// Runs a command of the CLI that must end with this status, and returns what it printed.
    pub(crate) fn read_failing(&self, arguments: &[&str], status: i32) -> Result<Output> {
        let output = self.command(arguments).output()?;
        ensure!(output.status.code() == Some(status), "{}", told(arguments, &output));
        Ok(output)
    }

    /// Uploads an example under its own name.
    pub(crate) fn push(&self, example: &str) -> Result<()> {
        let component = guests::component(example);
        let manifest = workspace::root().join("examples").join(example).join("cofferdam.toml");
        let (component, manifest) = (component.to_string_lossy(), manifest.to_string_lossy());
        let arguments = ["module", "push", &*component, "--manifest", &*manifest];
        shell::say(&format!("cofferdam module push {example}.wasm"));
        self.read(&arguments).map(drop)
    }

    /// Leaves the platform running.
    pub(crate) fn keep(mut self) {
        self.kept = true;
        let (server, pid) = (&self.server, self.dev.id());
        shell::say(&format!(
            "left running: use it with --server {server}, stop it with kill {pid}"
        ));
        shell::say(&format!("its data and log are in {}", self.folder.display()));
    }

    /// Stops the platform as an operator would and removes its folder.
    pub(crate) fn stop(mut self) -> Result<()> {
        let pid = self.dev.id().to_string();
        shell::run(Command::new("kill").args(["-TERM", &pid]))?;
        let status = self.dev.wait()?;
        ensure!(status.success(), "`cofferdam dev` did not stop cleanly ({status})");
        std::fs::remove_dir_all(&self.folder)
            .with_context(|| format!("cannot remove {}", self.folder.display()))
    }
}

impl Drop for Platform {
    /// A demo that fails half-way must not leave a server behind.
    fn drop(&mut self) {
        if !self.kept && matches!(self.dev.try_wait(), Ok(None)) {
            let pid = self.dev.id().to_string();
            let _ = Command::new("kill").args(["-TERM", &pid]).status();
            let _ = self.dev.wait();
            shell::say(&format!(
                "what the platform said is in {}",
                self.folder.join(LOG).display()
            ));
        }
    }
}

fn executable() -> PathBuf {
    workspace::target_dir().join("debug").join("cofferdam")
}

fn told(arguments: &[&str], output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    format!("`cofferdam {}` ended with {}:\n{errors}", arguments.join(" "), output.status)
}
