//! The executable as a test drives it: its arguments, what it says, how it ends.

use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long a process may take to start or to end. Generous: machines are shared.
pub(crate) const BOUND: Duration = Duration::from_mins(1);

/// An address that nothing listens on: port 9 is `discard`.
const NOWHERE: &str = "http://127.0.0.1:9";

/// What a command said and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Said {
    /// Standard output as text, without the line break at its end.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end().to_owned()
    }

    /// Standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        match serde_json::from_slice(&self.stdout) {
            Ok(json) => json,
            Err(error) => panic!("{error}: {self}"),
        }
    }

    /// Standard output as one JSON value a line.
    #[track_caller]
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Fails the test unless the command ended like this.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self}");
        self
    }

    /// Fails the test unless standard error has each of these.
    #[track_caller]
    pub(crate) fn complains(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.stderr.contains(part), "no `{part}` in {self}");
        }
        self
    }
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { code, stderr, .. } = self;
        write!(f, "exit {code}\n--- stdout\n{}\n--- stderr\n{}", self.text(), stderr.trim_end())
    }
}

/// The executable in an environment without settings of ours, and without a server.
pub(crate) fn bare() -> Command {
    bare_at(Path::new(env!("CARGO_BIN_EXE_cofferdam")))
}

/// The same of an executable elsewhere.
pub(crate) fn bare_at(executable: &Path) -> Command {
    let mut command = Command::new(executable);
    for (name, _) in std::env::vars_os() {
        let ours = name.to_string_lossy().starts_with("COFFERDAM_");
        if ours || name == "DATABASE_URL" || name == "NO_COLOR" || name == "CLICOLOR_FORCE" {
            command.env_remove(name);
        }
    }
    command.env("COFFERDAM_SERVER", NOWHERE).stdin(Stdio::null());
    command
}

/// Runs a command to its end.
pub(crate) fn finish(command: &mut Command) -> Said {
    let output = command.output().unwrap();
    Said {
        code: output.status.code().unwrap_or(-1),
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs the executable without a server. The arguments are separated by spaces.
pub(crate) fn run(args: &str) -> Said {
    finish(bare().args(args.split_whitespace()))
}

/// A process that a test started: ended when the test is over, whatever happened.
pub(crate) struct Process {
    child: Child,
    /// What it prints, line by line.
    lines: mpsc::Receiver<String>,
    /// The first line that it printed: what it says when it is ready.
    pub(crate) ready: Value,
}

impl Process {
    /// Starts a role and waits until it says that it is ready.
    #[track_caller]
    pub(crate) fn start(command: &mut Command) -> Self {
        command.arg("--json");
        if command.get_envs().all(|(name, _)| name != "COFFERDAM_LOG") {
            command.env("COFFERDAM_LOG", "warn");
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // What nobody waits for is read all the same, so that the process can go on.
                let _ = tell.send(line);
            }
        });
        let mut process = Self { child, lines: told, ready: Value::Null };
        process.ready = process.says();
        process
    }

    /// The next line that it prints, which is JSON.
    #[track_caller]
    pub(crate) fn says(&self) -> Value {
        let line = self.lines.recv_timeout(BOUND).unwrap_or_default();
        match serde_json::from_str(&line) {
            Ok(said) => said,
            Err(error) => panic!("the process said {line:?} ({error})"),
        }
    }

    /// The id that a worker said it has when it started.
    #[track_caller]
    pub(crate) fn worker(&self) -> &str {
        self.ready.get("worker").and_then(Value::as_str).unwrap()
    }

    /// The URL that a server said it serves on.
    pub(crate) fn url(&self) -> &str {
        self.ready.get("url").and_then(Value::as_str).unwrap()
    }

    /// Ends it without giving it a chance to say anything.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end, and waits until it has. Its exit code.
    #[track_caller]
    pub(crate) fn stop(&mut self) -> Option<i32> {
        self.signal("TERM");
        self.ends()
    }

    /// Waits until it has ended. Its exit code.
    #[track_caller]
    pub(crate) fn ends(&mut self) -> Option<i32> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(started.elapsed() < BOUND, "the process does not stop");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends it a signal, by its name without `SIG`.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A client of a server that a test started.
pub(crate) struct Client {
    url: String,
}

impl Client {
    pub(crate) fn new(url: &str) -> Self {
        Self { url: url.to_owned() }
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = bare();
        command.env("COFFERDAM_SERVER", &self.url);
        command
    }

    /// Runs a command against the server. The arguments are separated by spaces.
    pub(crate) fn run(&self, args: &str) -> Said {
        finish(self.command().args(args.split_whitespace()))
    }

    /// The same with single arguments that may have spaces in them.
    pub(crate) fn run_args(&self, args: &[&str]) -> Said {
        finish(self.command().args(args))
    }

    /// Runs a command with bytes on its standard input.
    pub(crate) fn pipe(&self, args: &str, input: &[u8]) -> Said {
        let mut command = self.command();
        command.args(args.split_whitespace()).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        Said {
            code: output.status.code().unwrap_or(-1),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Pushes an example under its own name.
    #[track_caller]
    pub(crate) fn push(&self, folder: &Path, example: &str) {
        let file = example_file(folder, example);
        self.run_args(&["module", "push", &file, "--name", example]).exits(0);
    }
}

/// The component of an example, in a file.
pub(crate) fn example_file(folder: &Path, example: &str) -> String {
    let path = folder.join(format!("{example}.wasm"));
    std::fs::write(&path, cofferdam_testkit::component(example)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Starts a server on a database of the test.
pub(crate) fn server(database_url: &str) -> Process {
    let mut command = bare();
    command.args(["server", "--listen", "127.0.0.1:0", "--database-url", database_url]);
    Process::start(&mut command)
}

/// A worker on a database of the test, to be started when its settings are complete.
pub(crate) fn worker(database_url: &str, slots: usize) -> Command {
    as_worker(bare(), database_url, slots)
}

/// Makes a worker of a command.
pub(crate) fn as_worker(mut command: Command, database_url: &str, slots: usize) -> Command {
    command.args(["worker", "--slots", &slots.to_string(), "--database-url", database_url]);
    quick(&mut command);
    command
}

/// Gives the leases of a worker the heartbeats of production, for tests in which nothing but what
/// they are about may take a job back, however slow the machine is.
pub(crate) fn patient(command: &mut Command) -> &mut Command {
    command.env("COFFERDAM_HEARTBEAT_INTERVAL", "30s").env("COFFERDAM_HEARTBEAT_STALENESS", "90s")
}

/// The key that tests set, where there is to be one.
pub(crate) const KEY: &str = "0707070707070707070707070707070707070707070707070707070707070707";

/// Starts a server and a worker in one process, on a database of the test.
pub(crate) fn dev(database_url: &str) -> Process {
    let mut command = bare();
    // Or it would make one, in a folder where the tests run.
    command.env("COFFERDAM_KEY", KEY);
    command.args([
        "dev",
        "--listen",
        "127.0.0.1:0",
        "--slots",
        "8",
        "--database-url",
        database_url,
    ]);
    quick(&mut command);
    Process::start(&mut command)
}

/// Makes the sweeps of a worker impatient.
pub(crate) fn quick(command: &mut Command) {
    command
        .env("COFFERDAM_HEARTBEAT_INTERVAL", "250ms")
        .env("COFFERDAM_HEARTBEAT_STALENESS", "2s")
        .env("COFFERDAM_RESCUE_INTERVAL", "250ms")
        .env("COFFERDAM_CRASH_GRACE", "500ms")
        .env("COFFERDAM_ORPHAN_GRACE", "1s")
        .env("COFFERDAM_LEADER_TTL", "2s")
        .env("COFFERDAM_LEADER_RENEW_INTERVAL", "500ms")
        .env("COFFERDAM_PROMOTE_INTERVAL", "50ms")
        .env("COFFERDAM_POLL_INTERVAL", "100ms")
        .env("COFFERDAM_LOG_FLUSH_INTERVAL", "50ms")
        .env("COFFERDAM_DRAIN_GRACE", "2m");
}
