//! Attempts in processes of their own: for suspects, and for those whose module, tenant or operator
//! asks for a second wall.
//!
//! A suspect is a job that lost a worker before, and may be why: a guest that kills its process
//! takes nobody along there. The process is the platform's own executable, which gets the artefact
//! and the attempt and nothing else: no database, no token.

use cofferdam_core::fail::Counters;
use cofferdam_core::settings::Isolation;
use cofferdam_sandbox::SandboxSettings;
use cofferdam_sandbox::apart::{Apart, ApartSettings, Room};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How much of the time to start a process and to load the component is not counted towards the
/// deadline: at most this, and so much less than the sweep's grace that the sweep never takes a
/// lease whose attempt is only late to start.
const MAX_PREPARATION: Duration = Duration::from_secs(20);

/// How long an attempt waits for room at most, inside its lease and in its slot, and no longer than
/// an eighth of its deadline, which has begun. Then its job is given back.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// How many suspects run at once. Few: whatever it is that kills their processes, it may be the
/// machine's memory.
const SUSPECTS: usize = 4;

/// Runs attempts in processes of their own.
pub(crate) struct Alone {
    suspects: Apart,
    isolated: Apart,
}

impl Alone {
    /// `overdue_grace`: how long past its deadline a lease is left alone. `slots`: how many attempts
    /// this worker runs at once, all of which may ask for a process.
    pub(crate) fn new(
        executable: PathBuf,
        sandbox: &SandboxSettings,
        slots: usize,
        overdue_grace: Duration,
    ) -> Self {
        let apart = |executable: &Path, processes| {
            let preparation = MAX_PREPARATION.min(overdue_grace * 2 / 3);
            let settings = ApartSettings { sandbox: sandbox.clone(), preparation, processes };
            Apart::new(executable.to_owned(), settings)
        };
        Self { suspects: apart(&executable, SUSPECTS), isolated: apart(&executable, slots) }
    }

    /// Whether an attempt of a job with these counters must have a process of its own.
    pub(crate) fn is_for(counters: Counters, isolation: Isolation) -> bool {
        is_suspect(counters) || isolation == Isolation::Process
    }

    /// Room for a process, if there is any soon enough, and who runs it.
    pub(crate) async fn room(
        &self,
        counters: Counters,
        deadline: Duration,
    ) -> Option<(&Apart, Room)> {
        let apart = if is_suspect(counters) { &self.suspects } else { &self.isolated };
        let room = tokio::time::timeout(MAX_WAIT.min(deadline / 8), apart.room()).await.ok()?;
        Some((apart, room))
    }
}

fn is_suspect(counters: Counters) -> bool {
    counters.crashes > 0
}
