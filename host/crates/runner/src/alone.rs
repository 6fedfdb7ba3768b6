//! Suspects: jobs that lost a worker before, and may be why.
//!
//! Their next attempt runs in a process of its own, so that a guest that kills its process takes
//! nobody along. The process is the platform's own executable, which gets the component and the
//! attempt and nothing else: no database, no token.

use crate::modules::{LoadError, Modules};
use cofferdam_core::fail::Counters;
use cofferdam_core::module::Digest;
use cofferdam_sandbox::apart::{Apart, ApartSettings, Room};
use std::path::PathBuf;
use std::time::Duration;

/// How much of the time to start a process and to compile the component is not counted towards the
/// deadline: at most this, and so much less than the sweep's grace that the sweep never takes a
/// lease whose attempt is only late to start.
const MAX_PREPARATION: Duration = Duration::from_secs(20);

/// How long a suspect waits for room at most, inside its lease and in its slot, and no longer than
/// an eighth of its deadline, which has begun. Then its job is given back.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Runs attempts in processes of their own.
pub(crate) struct Alone {
    apart: Apart,
    modules: Modules,
}

impl Alone {
    /// `overdue_grace`: how long past its deadline a lease is left alone.
    pub(crate) fn new(executable: PathBuf, modules: Modules, overdue_grace: Duration) -> Self {
        let settings = ApartSettings {
            sandbox: modules.sandbox().settings().clone(),
            preparation: MAX_PREPARATION.min(overdue_grace * 2 / 3),
            ..ApartSettings::default()
        };
        Self { apart: Apart::new(executable, settings), modules }
    }

    /// Whether a job with these counters is a suspect.
    pub(crate) fn is_for(counters: Counters) -> bool {
        counters.crashes > 0
    }

    /// Room for a process, if there is any soon enough.
    pub(crate) async fn room(&self, deadline: Duration) -> Option<Room> {
        tokio::time::timeout(MAX_WAIT.min(deadline / 8), self.apart.room()).await.ok()
    }

    /// The component, which the other process compiles by itself: this one must not run it.
    pub(crate) async fn component(&self, digest: Digest) -> Result<Vec<u8>, LoadError> {
        self.modules.component(digest).await
    }

    pub(crate) fn apart(&self) -> &Apart {
        &self.apart
    }
}
