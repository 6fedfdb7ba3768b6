//! The jobs of a run, and what must become of each.

use crate::clock::Nanos;
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use uuid::{Builder, Uuid};

/// The module that jobs run, and the kind.
pub const MODULE: &str = "misbehave/ledger";

/// The most poison jobs of one module: a version whose jobs killed their processes three times is
/// not run any more, and the other jobs of the run would be held with it.
pub const POISON_PER_MODULE: usize = 2;

/// How an attempt ends that nobody disturbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// It completes.
    Ok,
    /// It completes in the attempt of this number, and fails before.
    ErrorUntil(u32),
    /// It fails in every attempt.
    Error,
    /// It fails for good.
    Permanent,
    /// It traps in every attempt.
    Trap,
    /// It asks for a second, once, and completes.
    Snooze,
    /// It spins until its deadline in every attempt.
    Spin,
    /// It is killed with its process.
    Poison,
}

/// An end of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The state.
    pub state: &'static str,
    /// How many attempts were counted.
    pub attempts: u32,
}

impl Plan {
    /// How the job must end unless its crash budget is used up, with the attempts it may have.
    pub fn end(self, max_attempts: u32) -> End {
        match self {
            Self::Ok | Self::Snooze => End { state: "completed", attempts: 0 },
            Self::ErrorUntil(attempt) => {
                End { state: "completed", attempts: attempt.saturating_sub(1) }
            }
            Self::Error | Self::Trap | Self::Spin => End { state: "dead", attempts: max_attempts },
            Self::Permanent => End { state: "failed", attempts: 1 },
            // Only its crash budget ends it.
            Self::Poison => End { state: "dead", attempts: 0 },
        }
    }

    /// The classes with which its attempts may fail, beside those that faults bring.
    pub fn classes(self) -> &'static [&'static str] {
        match self {
            Self::Ok | Self::Poison => &[],
            Self::ErrorUntil(_) | Self::Error => &["error"],
            Self::Permanent => &["permanent"],
            Self::Trap => &["trap"],
            Self::Snooze => &["snoozed"],
            Self::Spin => &["deadline"],
        }
    }

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ErrorUntil(_) => "error until",
            Self::Error => "error",
            Self::Permanent => "permanent",
            Self::Trap => "trap",
            Self::Snooze => "snooze",
            Self::Spin => "spin",
            Self::Poison => "poison",
        }
    }

    fn outcome(self) -> Value {
        match self {
            Self::Ok => json!("ok"),
            Self::ErrorUntil(attempt) => json!({ "error-until": attempt }),
            Self::Error => json!({ "error-until": u32::MAX }),
            Self::Permanent => json!("permanent"),
            Self::Trap => json!("trap"),
            Self::Snooze => json!("snooze"),
            Self::Spin => json!("spin"),
            Self::Poison => json!("poison"),
        }
    }
}

/// What is known of a cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// Nobody asked.
    None,
    /// Somebody asked, and the answer was lost.
    Unknown,
    /// It was accepted for a job that waited. The time is that of the answer.
    AtOnce(Nanos),
    /// It was accepted for a job that ran.
    Requested(Nanos),
}

/// A job of the run.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its id, made here.
    pub id: Uuid,
    /// What must become of it.
    pub plan: Plan,
    /// How often it may be attempted.
    pub max_attempts: u32,
    /// What is submitted.
    pub body: Value,
    /// When its acceptance was acknowledged.
    pub accepted: Option<Nanos>,
    /// Whether somebody cancelled it.
    pub cancel: Cancel,
}

/// Makes up jobs.
pub struct Maker {
    random: StdRng,
    poisoned: usize,
}

impl Maker {
    /// The same seed makes the same jobs but for their ids' times.
    pub fn new(seed: u64) -> Self {
        Self { random: StdRng::seed_from_u64(seed), poisoned: 0 }
    }

    /// A job that is no poison.
    pub fn job(&mut self, now: Nanos) -> Job {
        let plan = match self.random.random_range(0..100) {
            0..60 => Plan::Ok,
            60..72 => Plan::ErrorUntil(self.random.random_range(2..=4)),
            72..76 => Plan::Error,
            76..82 => Plan::Permanent,
            82..86 => Plan::Trap,
            86..95 => Plan::Snooze,
            _ => Plan::Spin,
        };
        // Most are short. A few are so long that the next fault meets them.
        let ms = match (plan, self.random.random_range(0..20)) {
            (Plan::Spin, _) => self.random.random_range(0..200),
            (_, 0) => self.random.random_range(2_000..5_000),
            _ => self.random.random_range(50..1_000),
        };
        self.make(now, MODULE, plan, ms)
    }

    /// A job that completes when nobody disturbs it.
    pub fn good(&mut self, now: Nanos, ms: u64) -> Job {
        self.make(now, MODULE, Plan::Ok, ms)
    }

    /// A job that is poison, of a module that [`Maker::poison_module`] names.
    pub fn poison(&mut self, now: Nanos) -> Job {
        let module = format!("{}/ledger", self.poison_module());
        self.poisoned += 1;
        self.make(now, &module, Plan::Poison, 20_000)
    }

    /// The module of the next poison job, which must have been pushed under this name.
    pub fn poison_module(&self) -> String {
        format!("poison-{}", self.poisoned / POISON_PER_MODULE)
    }

    /// Whether the next poison job needs a module that none had before.
    pub fn poison_is_new(&self) -> bool {
        self.poisoned.is_multiple_of(POISON_PER_MODULE)
    }

    fn make(&mut self, now: Nanos, module: &str, plan: Plan, ms: u64) -> Job {
        let max_attempts = match plan {
            Plan::Error | Plan::Trap | Plan::Spin => 2,
            _ => 4,
        };
        let mut noise = [0; 10];
        self.random.fill_bytes(&mut noise);
        let millis = u64::try_from(now / 1_000_000).unwrap_or(0);
        let id = Builder::from_unix_timestamp_millis(millis, &noise).into_uuid();
        let body = json!({
            "id": id,
            "module": module,
            "input": { "ms": ms, "outcome": plan.outcome() },
            "deadline": if plan == Plan::Spin { "700ms" } else { "5m" },
            "max_attempts": max_attempts,
            "backoff": { "constant": "200ms" },
        });
        Job { id, plan, max_attempts, body, accepted: None, cancel: Cancel::None }
    }
}

/// Every job that somebody tried to submit.
#[derive(Debug, Default)]
pub struct Book(Mutex<BTreeMap<Uuid, Job>>);

impl Book {
    /// Takes note of a job that is about to be submitted.
    pub fn enter(&self, job: Job) {
        self.jobs().insert(job.id, job);
    }

    /// Changes what is known of one.
    pub fn change(&self, id: Uuid, change: impl FnOnce(&mut Job)) {
        if let Some(job) = self.jobs().get_mut(&id) {
            change(job);
        }
    }

    /// One of the newest jobs that may be cancelled, by a number that chance gave.
    pub fn pick(&self, chance: usize) -> Option<Uuid> {
        const NEWEST: usize = 40;
        let jobs = self.jobs();
        let may = |job: &&Job| {
            job.accepted.is_some() && job.cancel == Cancel::None && job.plan != Plan::Poison
        };
        let newest: Vec<_> = jobs.values().rev().filter(may).take(NEWEST).collect();
        newest.get(chance % newest.len().max(1)).map(|job| job.id)
    }

    /// All of them.
    pub fn all(&self) -> BTreeMap<Uuid, Job> {
        self.jobs().clone()
    }

    /// A task that panicked has left nothing half done.
    fn jobs(&self) -> MutexGuard<'_, BTreeMap<Uuid, Job>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_jobs_again() {
        let made = |seed| {
            let mut maker = Maker::new(seed);
            (0..50).map(|_| maker.job(0).body).collect::<Vec<_>>()
        };
        assert_eq!(made(7), made(7));
        assert_ne!(made(7), made(8));
    }

    #[test]
    fn a_module_gets_no_more_poison_than_leaves_it_out_of_quarantine() {
        let mut maker = Maker::new(1);
        let fresh: Vec<_> = (0..5)
            .map(|_| {
                let fresh = (maker.poison_module(), maker.poison_is_new());
                maker.poison(0);
                fresh
            })
            .collect();
        let expected = [("0", true), ("0", false), ("1", true), ("1", false), ("2", true)];
        assert_eq!(fresh, expected.map(|(number, new)| (format!("poison-{number}"), new)));
    }
}
