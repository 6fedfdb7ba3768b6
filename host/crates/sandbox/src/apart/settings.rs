//! What whoever runs attempts apart decides.

use crate::settings::SandboxSettings;
use std::time::Duration;

/// See [`ApartSettings::preparation`]. With what a process needs to end it stays below the 30 s
/// that the sweep of overdue leases leaves an attempt past its deadline.
const DEFAULT_PREPARATION: Duration = Duration::from_secs(20);

/// See [`ApartSettings::processes`]. Few: each is a process with a sandbox of its own.
const DEFAULT_PROCESSES: usize = 4;

/// The settings of an [`Apart`](super::Apart).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApartSettings {
    /// What a sandbox is like. Those apart have one slot and one thread, whatever this says.
    pub sandbox: SandboxSettings,
    /// How much of the time that it takes to start a process and to load the component is not
    /// counted towards an attempt's deadline: nothing is at hand in a new process, and a small
    /// deadline would be over before the guest ran. Must be less than what passes between a
    /// deadline and the moment when the lease is taken away for it.
    pub preparation: Duration,
    /// How many processes there may be at once, at least 1.
    pub processes: usize,
}

impl Default for ApartSettings {
    fn default() -> Self {
        Self {
            sandbox: SandboxSettings::default(),
            preparation: DEFAULT_PREPARATION,
            processes: DEFAULT_PROCESSES,
        }
    }
}
