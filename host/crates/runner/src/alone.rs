//! Suspects: jobs that lost a worker before, and may be why.
//!
//! Their next attempt runs in a process of its own, so that a guest that kills its process takes
//! nobody along. The process is the platform's own executable, which gets the component and the
//! attempt and nothing else: no database, no token.

use crate::modules::{LoadError, Modules};
use cofferdam_core::fail::Counters;
use cofferdam_core::module::Digest;
use cofferdam_sandbox::apart::{Apart, ApartSettings};
use std::path::PathBuf;
use std::time::Duration;

/// How much of the time to start a process and to compile the component is not counted towards the
/// deadline: at most this, and so much less than the sweep's grace that the sweep never takes a
/// lease whose attempt is only late to start.
const MAX_PREPARATION: Duration = Duration::from_secs(20);

/// Runs attempts in processes of their own.
pub(crate) struct Alone {
    apart: Apart,
    modules: Modules,
}

impl Alone {
    /// `overdue_grace`: how long past its deadline a lease is left alone.
    pub(crate) fn new(executable: PathBuf, modules: Modules, overdue_grace: Duration) -> Self {
        let settings = ApartSettings {
            preparation: MAX_PREPARATION.min(overdue_grace * 2 / 3),
            ..ApartSettings::default()
        };
        Self { apart: Apart::new(executable, settings), modules }
    }

    /// Whether a job with these counters is a suspect.
    pub(crate) fn is_for(counters: Counters) -> bool {
        counters.crashes > 0
    }

    /// The component, which the other process compiles by itself: this one must not run it.
    pub(crate) async fn component(&self, digest: Digest) -> Result<Vec<u8>, LoadError> {
        self.modules.component(digest).await
    }

    pub(crate) fn apart(&self) -> &Apart {
        &self.apart
    }
}
