//! Which fault comes when. The same seed makes the same schedule.

use crate::fleet::WORKERS;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// What can be done to a platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A worker is killed.
    KillWorker,
    /// The worker that leads is killed.
    KillLeader,
    /// The server is killed.
    KillServer,
    /// A worker does not run for longer than its leases are good, and then goes on.
    Freeze,
    /// Postgres is restarted, and waits for nobody.
    RestartFast,
    /// Postgres is restarted without writing anything down.
    RestartImmediate,
    /// Postgres is killed.
    KillPostgres,
    /// One process of Postgres is killed, upon which it ends every session and recovers.
    KillBackend,
    /// An administrator ends some sessions of the platform.
    TerminateSome,
    /// An administrator ends all of them.
    TerminateAll,
    /// The network between a worker and Postgres swallows everything.
    BlackHole,
    /// The network resets every connection of a worker.
    Reset,
    /// The network between a worker and Postgres is slow.
    Delay,
    /// A worker is killed, and the next one's wall clock is hours off.
    Skew,
    /// A worker is told to stop under load, and another one started.
    Drain,
}

impl Kind {
    /// Each of them, in the order of the rota: what disturbs the most does not come at once.
    pub const ALL: [Self; 15] = [
        Self::KillWorker,
        Self::Freeze,
        Self::KillServer,
        Self::TerminateSome,
        Self::Skew,
        Self::Drain,
        Self::BlackHole,
        Self::KillLeader,
        Self::Reset,
        Self::RestartFast,
        Self::Delay,
        Self::KillBackend,
        Self::TerminateAll,
        Self::RestartImmediate,
        Self::KillPostgres,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::KillWorker => "kill -9 of a worker",
            Self::KillLeader => "kill -9 of the leader",
            Self::KillServer => "kill -9 of the server",
            Self::Freeze => "a worker frozen past staleness",
            Self::RestartFast => "fast restart of Postgres",
            Self::RestartImmediate => "immediate restart of Postgres",
            Self::KillPostgres => "kill -9 of Postgres",
            Self::KillBackend => "kill -9 of a backend",
            Self::TerminateSome => "some sessions terminated",
            Self::TerminateAll => "all sessions terminated",
            Self::BlackHole => "a worker's network swallows everything",
            Self::Reset => "a worker's connections reset",
            Self::Delay => "a worker's network is slow",
            Self::Skew => "a worker with a wrong clock",
            Self::Drain => "a worker drained and replaced",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A fault that is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// How long after the one before.
    pub pause: Duration,
    /// What.
    pub kind: Kind,
    /// To which worker, from 0, where it is one.
    pub worker: usize,
    /// How long it lasts, where it lasts.
    pub lasts: Duration,
    /// Chance of its own, for what can only be chosen when it happens.
    pub chance: u64,
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Schedule {
    random: StdRng,
    planned: usize,
}

impl Schedule {
    /// A schedule that goes on for ever: each kind once, in turn, then as chance has it.
    pub fn new(seed: u64) -> Self {
        Self { random: StdRng::seed_from_u64(seed), planned: 0 }
    }
}

impl Iterator for Schedule {
    type Item = Fault;

    fn next(&mut self) -> Option<Fault> {
        let any = self.random.random_range(0..Kind::ALL.len());
        let kind = Kind::ALL.get(self.planned).or_else(|| Kind::ALL.get(any))?;
        self.planned += 1;
        // Leases are good for 3 s: some troubles end before that, and some after. A freeze is
        // only of interest when it outlasts them.
        let (least, most) = if *kind == Kind::Freeze { (3_300, 6_000) } else { (300, 6_000) };
        Some(Fault {
            pause: Duration::from_millis(self.random.random_range(800..3_000)),
            kind: *kind,
            worker: self.random.random_range(0..WORKERS),
            lasts: Duration::from_millis(self.random.random_range(least..most)),
            chance: self.random.random(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_schedule_again() {
        let planned = |seed| Schedule::new(seed).take(100).collect::<Vec<_>>();
        assert_eq!(planned(7), planned(7));
        assert_ne!(planned(7), planned(8));
    }

    #[test]
    fn every_kind_comes_once_before_any_comes_twice() {
        let mut kinds: Vec<_> =
            Schedule::new(1).take(Kind::ALL.len()).map(|fault| fault.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds.len(), Kind::ALL.len());
    }
}
