//! What the processes said: the effects of guests, and the log.

use crate::clock::{self, Nanos};
use crate::process::Tag;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;
use uuid::Uuid;

/// The target under which a worker logs what its guests say.
pub const TARGET: &str = "cofferdam_guest";

/// The target under which it says which process it has started for a single attempt.
pub const ALONE: &str = "cofferdam_sandbox::apart";

/// How many lines of log are kept to explain violations.
const LINES: usize = 200_000;

/// A process that logs.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its number.
    pub pid: i32,
    /// How it is known.
    pub tag: Tag,
}

/// A moment at which an attempt ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    /// When, by the machine's clock.
    pub at: Nanos,
    /// The number that the guest was told its attempt has.
    pub attempt: u32,
    /// The worker.
    pub pid: i32,
}

/// A line of a log.
#[derive(Clone, Debug)]
pub struct Line {
    /// When it arrived here.
    pub at: Nanos,
    /// Who wrote it.
    pub name: String,
    /// What it says.
    pub text: String,
}

/// A guest that asks for its process to be killed.
#[derive(Clone, Debug)]
pub struct Poison {
    /// The job.
    pub job: Uuid,
    /// Which claim of it.
    pub run_lease: i64,
    /// The worker.
    pub pid: i32,
}

/// The effects of each attempt of a job, by its fencing token.
pub type Attempts = BTreeMap<i64, Vec<Effect>>;

/// See the module's documentation.
#[derive(Debug)]
pub struct Journal {
    effects: Mutex<HashMap<Uuid, Attempts>>,
    lines: Mutex<VecDeque<Line>>,
    defects: Mutex<Vec<String>>,
    /// The process that was last started for one attempt of a job.
    alone: Mutex<HashMap<Uuid, i32>>,
    poison: mpsc::UnboundedSender<Poison>,
}

impl Journal {
    /// An empty one. Guests that ask to be killed come through the channel.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<Poison>) {
        let (poison, poisoned) = mpsc::unbounded_channel();
        let journal = Self {
            effects: Mutex::default(),
            lines: Mutex::default(),
            defects: Mutex::default(),
            alone: Mutex::default(),
            poison,
        };
        (journal, poisoned)
    }

    /// Reads the log of a process to its end.
    pub fn read(&self, source: &Source, log: Option<impl Read>) {
        for line in log.into_iter().flat_map(|log| BufReader::new(log).split(b'\n')) {
            let Ok(line) = line else { return };
            match serde_json::from_slice(&line) {
                Ok(json) if self.effect(source, &json).is_some() => {}
                Ok(json) => {
                    self.apart(&json);
                    self.line(source, &String::from_utf8_lossy(&line));
                }
                Err(_) => self.line(source, &String::from_utf8_lossy(&line)),
            }
        }
    }

    /// Takes note of a line that a guest wrote for us; `None` when it is another.
    fn effect(&self, source: &Source, line: &Value) -> Option<()> {
        if line.get("target")?.as_str()? != TARGET {
            return None;
        }
        let (job, run_lease) = line.get("lease")?.as_str()?.split_once('#')?;
        let (job, run_lease) = (job.parse().ok()?, run_lease.parse().ok()?);
        let message = line.get("message")?.as_str()?;
        let pid = source.pid;
        if message == "poison" {
            // Whoever kills is gone at the end of a run.
            let _ = self.poison.send(Poison { job, run_lease, pid });
            return Some(());
        }
        let Some(effect) = message.strip_prefix("effect ") else {
            // Something else that a guest said, such as what its panics say.
            return Some(());
        };
        let (at, attempt) = effect.split_once(' ')?;
        let at = unskewed(at.parse().ok()?, source.tag.skew);
        let effect = Effect { at, attempt: attempt.parse().ok()?, pid };
        lock(&self.effects).entry(job).or_default().entry(run_lease).or_default().push(effect);
        Some(())
    }

    /// Takes note of the process that a worker has started for one attempt.
    fn apart(&self, line: &Value) -> Option<()> {
        line.get("target")?.as_str()?.strip_prefix(ALONE)?;
        let pid = i32::try_from(line.get("pid")?.as_i64()?).ok()?;
        lock(&self.alone).insert(line.get("job")?.as_str()?.parse().ok()?, pid);
        Some(())
    }

    /// The process that was last started for one attempt of a job.
    pub fn process_of(&self, job: Uuid) -> Option<i32> {
        lock(&self.alone).get(&job).copied()
    }

    fn line(&self, source: &Source, text: &str) {
        let (at, name) = (clock::now(), source.tag.name.clone());
        if text.contains("panicked at") {
            self.defect(format!("{name} panicked: {text}"));
        }
        let mut lines = lock(&self.lines);
        if lines.len() >= LINES {
            lines.pop_front();
        }
        lines.push_back(Line { at, name, text: text.to_owned() });
    }

    /// Takes note of something that must never happen.
    pub fn defect(&self, what: String) {
        lock(&self.defects).push(what);
    }

    /// What happened that must never happen.
    pub fn defects(&self) -> Vec<String> {
        lock(&self.defects).clone()
    }

    /// The effects of every attempt, each attempt's in the order of time.
    pub fn effects(&self) -> HashMap<Uuid, Attempts> {
        let mut effects = lock(&self.effects).clone();
        for attempt in effects.values_mut().flat_map(BTreeMap::values_mut) {
            attempt.sort_by_key(|effect| effect.at);
        }
        effects
    }

    /// The workers that had an effect since a time.
    pub fn busy_since(&self, since: Nanos) -> Vec<i32> {
        let effects = lock(&self.effects);
        let recent = effects.values().flat_map(BTreeMap::values).flatten();
        let mut pids: Vec<_> =
            recent.filter(|effect| effect.at >= since).map(|effect| effect.pid).collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    /// Every line that was kept, for people.
    pub fn text(&self, start: Nanos) -> String {
        let mut text = String::new();
        for line in lock(&self.lines).iter() {
            let at = clock::seconds(start, line.at);
            let _ = writeln!(text, "{at:9.3} {} {}", line.name, line.text);
        }
        text
    }

    /// The lines that have a text in them.
    pub fn lines_with(&self, text: &str) -> Vec<Line> {
        lock(&self.lines).iter().filter(|line| line.text.contains(text)).cloned().collect()
    }
}

/// The time by the machine's clock. A guest in a process of its own may have been given the
/// machine's clock where its worker has a shifted one; the two are hours apart.
fn unskewed(at: Nanos, skew: Nanos) -> Nanos {
    let shifted = clock::now().saturating_add(skew);
    let is_shifted = at.abs_diff(shifted) <= at.abs_diff(clock::now());
    if is_shifted { at.saturating_sub(skew) } else { at }
}

/// A reader that panicked has left nothing half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = "0199c1a5-8c3e-7000-8000-000000000001";

    fn source(skew: Nanos) -> Source {
        Source { pid: 7, tag: Tag { name: "worker 1".to_owned(), skew } }
    }

    fn said(message: &str) -> String {
        format!(
            "{{\"level\":\"TRACE\",\"lease\":\"{JOB}#3\",\"message\":\"{message}\",\
             \"target\":\"{TARGET}\"}}\n"
        )
    }

    #[test]
    fn effects_are_filed_by_job_and_token_and_corrected_by_the_skew() {
        let (journal, mut poisoned) = Journal::new();
        let (now, hour) = (clock::now(), 3_600_000_000_000);
        let log = said(&format!("effect {} 2", now + hour))
            + &said(&format!("effect {} 2", now - 5))
            + &said("poison")
            + "{\"level\":\"INFO\",\"message\":\"worker started\"}\n";

        journal.read(&source(hour), Some(log.as_bytes()));

        let effects = journal.effects();
        let effects = &effects[&JOB.parse().unwrap()][&3];
        let early = Effect { at: now - 5, attempt: 2, pid: 7 };
        assert_eq!(effects, &[early, Effect { at: now, ..early }]);
        assert_eq!(poisoned.try_recv().unwrap().run_lease, 3);
        assert_eq!(journal.lines_with("worker started").len(), 1);
        assert_eq!(journal.busy_since(now), [7]);
    }

    #[test]
    fn the_process_of_a_single_attempt_is_known() {
        let (journal, _poisoned) = Journal::new();
        let target = format!("{ALONE}::supervisor");
        let log = format!("{{\"target\":\"{target}\",\"pid\":42,\"job\":\"{JOB}\"}}\n");
        journal.read(&source(0), Some(log.as_bytes()));
        assert_eq!(journal.process_of(JOB.parse().unwrap()), Some(42));
    }

    #[test]
    fn a_panic_of_the_platform_is_a_defect() {
        let (journal, _poisoned) = Journal::new();
        let panic = "thread 'main' panicked at src/main.rs:1:1:\n";
        journal.read(&source(0), Some(panic.as_bytes()));
        assert_eq!(journal.defects().len(), 1);
        // A guest's own is not.
        journal.read(&source(0), Some(said("panicked at src/ledger.rs:1:1:").as_bytes()));
        assert_eq!(journal.defects().len(), 1);
    }
}
