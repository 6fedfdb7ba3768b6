//! The guest that is measured, and attempts of it.

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use cofferdam_core::limits::Limits;
use cofferdam_core::log::LogLine;
use cofferdam_sandbox::{Attempt, AttemptHost, JobInfo, Sandbox, SandboxSettings};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// Reads a built example.
pub(crate) fn read(folder: &Path, name: &str) -> Result<Vec<u8>> {
    let path = folder.join(format!("{name}.wasm"));
    std::fs::read(&path)
        .with_context(|| format!("no component at {}: run `cargo xtask bench`", path.display()))
}

/// A sandbox with `threads` guest threads.
pub(crate) fn sandbox(runtime: &Runtime, threads: usize) -> Result<Sandbox> {
    let settings = SandboxSettings { slots: 128, threads, ..SandboxSettings::default() };
    Ok(Sandbox::start(settings, runtime.handle().clone())?)
}

/// An attempt of one kind, with `time` to run.
pub(crate) fn attempt(kind: &str, input: Vec<u8>, time: Duration) -> Attempt {
    let id = "00000000-0000-0000-0000-000000000000".to_owned();
    Attempt {
        info: JobInfo {
            id: id.clone(),
            kind: kind.to_owned(),
            queue: "default".to_owned(),
            tenant: "default".to_owned(),
            attempt: 1,
            max_attempts: 1,
            priority: 2,
            created_at: 0,
            deadline_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
            idempotency_key: id,
            workflow: None,
            metadata: Vec::new(),
        },
        input,
        args: Vec::new(),
        env: Vec::new(),
        limits: Limits { deadline: time, ..Limits::default() },
        deadline: Instant::now() + time,
        lease_until: None,
        last_checkpoint: None,
        resumed: None,
        host: Arc::new(Silence),
    }
}

/// A platform that keeps nothing.
struct Silence;

#[async_trait]
impl AttemptHost for Silence {
    fn log(&self, _line: LogLine) {}
    fn progress(&self, _percent: u8, _note: String) {}
    async fn checkpoint(&self, _bytes: Vec<u8>) -> Result<(), String> {
        Ok(())
    }
    async fn extend_deadline(&self, by: Duration) -> Result<Duration, String> {
        Ok(by)
    }
}
