//! Attempts in a process of their own: the real executable as the child, and children that are
//! none of ours.

mod fake;
mod hostile;
mod kills;
mod outcomes;
mod process;
mod room;

use async_trait::async_trait;
use cofferdam_core::class::FailureClass;
use cofferdam_core::limits::Limits;
use cofferdam_core::log::LogLine;
use cofferdam_core::outcome::{End, Failure, Outcome};
use cofferdam_sandbox::apart::{Apart, ApartRunning, ApartSettings};
use cofferdam_sandbox::{Attempt, AttemptHost, JobInfo};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long anything may take that is not measured. Generous: machines are shared, and every
/// child compiles its component anew.
const PATIENCE: Duration = Duration::from_mins(2);

/// How late a kill may be. A child is asked for 100 ms before it is killed; the rest is for the
/// machine.
const LATE: Duration = Duration::from_secs(5);

/// What an attempt asked of its host.
#[derive(Default)]
struct Recorder {
    lines: Mutex<Vec<LogLine>>,
    checkpoints: Mutex<Vec<Vec<u8>>>,
    /// Makes every checkpoint wait for ever.
    stuck: bool,
}

impl Recorder {
    /// The log without its times.
    fn log(&self) -> Vec<(String, String)> {
        let lines = self.lines.lock().unwrap();
        lines.iter().map(|line| (line.level.to_string(), line.message.clone())).collect()
    }
}

#[async_trait]
impl AttemptHost for Recorder {
    fn log(&self, line: LogLine) {
        self.lines.lock().unwrap().push(line);
    }

    fn progress(&self, _percent: u8, _note: String) {}

    async fn checkpoint(&self, bytes: Vec<u8>) -> Result<(), String> {
        if self.stuck {
            std::future::pending::<()>().await;
        }
        self.checkpoints.lock().unwrap().push(bytes);
        Ok(())
    }

    async fn extend_deadline(&self, _by: Duration) -> Result<Duration, String> {
        Err("not here".to_owned())
    }
}

/// An attempt at a kind, with what a test may change of it.
struct Case {
    kind: &'static str,
    input: &'static [u8],
    limits: Limits,
    lease: Option<Duration>,
    checkpoint: Option<Vec<u8>>,
    host: Arc<Recorder>,
}

impl Case {
    fn of(kind: &'static str) -> Self {
        Self {
            kind,
            input: b"",
            limits: Limits::default(),
            lease: None,
            checkpoint: None,
            host: Arc::default(),
        }
    }

    fn with(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// With so much time.
    fn hurried(self, deadline: Duration) -> Self {
        let limits = Limits { deadline, ..self.limits.clone() };
        self.with(limits)
    }

    fn attempt(&self) -> Attempt {
        let now = Instant::now();
        let info = JobInfo { kind: self.kind.to_owned(), attempt: 1, ..JobInfo::default() };
        Attempt {
            info,
            input: self.input.to_vec(),
            args: Vec::new(),
            env: Vec::new(),
            deadline: now + self.limits.deadline,
            limits: self.limits.clone(),
            lease_until: self.lease.map(|lease| now + lease),
            last_checkpoint: self.checkpoint.clone(),
            resumed: None,
            host: Arc::clone(&self.host) as _,
        }
    }

    /// Runs it apart, as a kind of `misbehave`.
    async fn start(&self) -> ApartRunning {
        run(&apart(), cofferdam_testkit::component("misbehave"), self.attempt()).await
    }
}

/// Attempts in children of the real executable.
fn apart() -> Apart {
    Apart::new(PathBuf::from(env!("CARGO_BIN_EXE_cofferdam")), ApartSettings::default())
}

/// Runs an attempt as soon as there is room for it.
async fn run(apart: &Apart, component: Vec<u8>, attempt: Attempt) -> ApartRunning {
    apart.run(apart.room().await, component, attempt)
}

/// Waits for an outcome, but not for ever.
async fn finish(running: ApartRunning) -> Outcome {
    tokio::time::timeout(PATIENCE, running.outcome()).await.unwrap()
}

/// The failure of an attempt that must have failed like this.
#[track_caller]
fn failure(outcome: Outcome, class: FailureClass, code: &str) -> Failure {
    match outcome.end {
        End::Failed(failure) if failure.class == class && failure.code == code => failure,
        other => panic!("expected {class} `{code}`, got {other:?}"),
    }
}
