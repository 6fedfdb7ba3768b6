//! Runs one claimed job: from the claim to an outcome that is on its way to the database.

use crate::alone::Alone;
use crate::error::chain;
use crate::finish::Ended;
use crate::host::Host;
use crate::inflight::InFlight;
use crate::logs::Buffers;
use crate::modules::{CheckError, LoadError, Modules};
use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::fail_attempt;
use cofferdam_core::history::{PROCESS_DIED, bounded};
use cofferdam_core::ids::LeaseKey;
use cofferdam_core::limits::Limits;
use cofferdam_core::module::World;
use cofferdam_core::outcome::{End, Failure, Outcome, RetryAdvice, Usage};
use cofferdam_core::settings::{Isolation, KindSettings, limits, retry_policy};
use cofferdam_sandbox::apart::{Apart, Room};
use cofferdam_sandbox::{Artefact, Attempt, CompilerError, JobInfo, KillReason, Prepared, Reins};
use cofferdam_store::{Claimed, Finish, FinishEnd, Store, StoreError};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tracing::{error, warn};

/// The codes under which the sandbox gives a job back because of a fault of its own.
const HOST_FAULTS: [&str; 2] = ["host-panic", "host-bug"];

/// The shortest wait of a job that this host could not run, doubled each time in a row. Without
/// one such a job would be claimed and given back as fast as the database can.
const MIN_GIVE_BACK: Duration = Duration::from_secs(1);

/// How often a job is given back because its component was not at hand.
const MAX_LATE_LOADS: u32 = 3;

/// Everything that the attempts of a worker share.
pub(crate) struct Executor {
    pub(crate) store: Store,
    pub(crate) modules: Modules,
    /// Where suspects run, and whoever else needs a process of its own. `None`: suspects run here,
    /// and nobody else that needs one does.
    pub(crate) alone: Option<Alone>,
    /// Where attempts run at least, whatever their module says.
    pub(crate) isolation: Isolation,
    pub(crate) inflight: Arc<InFlight>,
    pub(crate) buffers: Arc<Buffers>,
    pub(crate) caps: Limits,
    pub(crate) outcomes: mpsc::UnboundedSender<Ended>,
}

impl Executor {
    /// Runs the attempt and hands its outcome on.
    pub(crate) async fn run(&self, claimed: Claimed, slot: OwnedSemaphorePermit) {
        let key = claimed.key;
        // Whatever happens below, the attempt does not stay in the table for ever.
        let guard = Forgotten { executor: self, key, armed: true };
        let kind = claimed.kind_settings.clone().unwrap_or_default();
        let policy = retry_policy(&claimed.options, &kind);
        let counters = claimed.counters;
        let given_back = times_given_back(&claimed);

        let outcome = self.outcome(claimed, &kind).await;
        let end = match outcome.end {
            End::Completed(output) => FinishEnd::Completed(output),
            // The lease is someone else's now, and so is the job. Not so when the guest's own
            // process died: then this is how everybody else hears of it.
            End::Failed(failure)
                if failure.class == FailureClass::Lost && failure.code != PROCESS_DIED =>
            {
                self.buffers.finish(&self.store, std::iter::once(key)).await;
                return;
            }
            End::Failed(failure) => {
                let draining = self.inflight.killed(key) == Some(KillReason::Shutdown);
                let failure = bounded(as_decided(failure, given_back, draining));
                let jitter = rand::random::<f64>();
                let verdict =
                    fail_attempt(failure.class, failure.advice, counters, &policy, jitter);
                FinishEnd::Failed { failure, verdict }
            }
        };
        self.inflight.ended(key);
        let finish = Finish { key, end, usage: outcome.usage };
        if self.outcomes.send(Ended { finish, slot }).is_err() {
            // The writer outlives every attempt, so this is a defect; the lease will be rescued.
            error!(lease = %key, "nobody writes outcomes any more");
            return;
        }
        guard.disarm();
    }

    /// Prepares and runs the attempt, unless it is to end before that.
    async fn outcome(&self, claimed: Claimed, kind: &KindSettings) -> Outcome {
        let key = claimed.key;
        let failed = |failure| Outcome { end: End::Failed(failure), usage: Usage::default() };
        let loading = Instant::now();
        let prepared = tokio::select! {
            biased;
            reason = self.inflight.ending(key) => return failed(not_started(reason)),
            prepared = self.prepare(claimed, kind) => prepared,
        };
        match prepared {
            Ok((claimed, _)) if overslept(&claimed, loading.elapsed()) => {
                // It is at hand now, and the next claim has the whole deadline before it.
                failed(Failure::new(
                    FailureClass::Released,
                    "loading",
                    "loading the component took too much of the deadline",
                ))
            }
            Ok((claimed, place)) => self.attempt(place, claimed, kind).await,
            Err(failure) => failed(failure),
        }
    }

    /// Has everything at hand that the attempt needs, or says why it cannot run.
    async fn prepare(
        &self,
        mut claimed: Claimed,
        kind: &KindSettings,
    ) -> Result<(Claimed, Place<'_>), Failure> {
        let not_runnable = |code: &str, message: String| {
            Err(Failure::new(FailureClass::NotRunnable, code, message))
        };
        let Some(digest) = claimed.digest else {
            return not_runnable(
                "no-version",
                format!("`{}` has no version to run", claimed.module),
            );
        };
        if claimed.kind_settings.is_none() {
            let (kind, module) = (&claimed.kind, &claimed.module);
            return not_runnable("unknown-kind", format!("`{module}` does not handle `{kind}`"));
        }
        if let Some(version) = claimed.version {
            // The version may be another than the one that the payload was checked against.
            let payload = std::mem::take(&mut claimed.payload);
            let (payload, checked) =
                self.modules.check_payload(version, &claimed.kind, payload).await;
            claimed.payload = payload;
            match checked {
                Ok(()) => {}
                Err(CheckError::Mismatch(problem)) => {
                    return not_runnable("payload-mismatch", problem);
                }
                Err(CheckError::Store(error)) => return Err(unread(&error)),
            }
        }
        let isolation = kind.isolation.max(self.isolation);
        let place = match &self.alone {
            Some(alone) if Alone::is_for(claimed.counters, isolation) => {
                // Before the component is read: who waits holds nothing but its slot.
                let room = alone.room(claimed.counters, claimed.deadline).await;
                let Some((apart, room)) = room else { return Err(crowded()) };
                let artefact = self.modules.artefact(claimed.tenant, digest).await;
                artefact.map(|artefact| Place::Apart(apart, room, artefact))
            }
            None if isolation == Isolation::Process => return Err(no_wall()),
            _ => self.modules.get(claimed.tenant, digest).await.map(Place::Here),
        };
        match place {
            Ok(place) => Ok((claimed, place)),
            Err(error @ (LoadError::Missing(_) | LoadError::Corrupt { .. })) => {
                not_runnable("no-component", error.to_string())
            }
            Err(LoadError::Rejected(reject)) => not_runnable(reject.code(), chain(&*reject)),
            Err(error @ LoadError::Interrupted) => {
                not_runnable("compile-failed", error.to_string())
            }
            Err(LoadError::Compiler(error)) => Err(no_compiler(&error)),
            Err(LoadError::Store(error)) => Err(unread(&error)),
        }
    }

    async fn attempt(&self, place: Place<'_>, claimed: Claimed, kind: &KindSettings) -> Outcome {
        let key = claimed.key;
        let attempt = self.as_attempt(claimed, kind);
        let (reins, outcome): (Arc<dyn Reins>, BoxFuture<'_, Outcome>) = match place {
            Place::Here(prepared) => {
                let running = self.modules.sandbox().run(&prepared, attempt);
                (Arc::new(running.kill.clone()), Box::pin(running.outcome()))
            }
            Place::Apart(apart, room, artefact) => {
                let running = apart.run(room, artefact, attempt);
                (running.reins.clone(), Box::pin(running.outcome()))
            }
        };
        self.inflight.started(key, reins);
        tokio::select! {
            outcome = outcome => outcome,
            () = self.inflight.given_up(key) => Outcome {
                end: End::Failed(Failure::new(
                    FailureClass::Lost,
                    "leaked",
                    "the guest's thread did not come out of a call",
                )),
                usage: Usage::default(),
            },
        }
    }

    fn as_attempt(&self, claimed: Claimed, kind: &KindSettings) -> Attempt {
        let key = claimed.key;
        let attempt_number = claimed.counters.attempts.saturating_add(1);
        let buffer = self.buffers.open(key, attempt_number);
        let host = Host {
            key,
            store: self.store.clone(),
            buffer,
            control: Handle::current(),
            deadline_cap: self.caps.deadline,
        };
        let mut limits = limits(&claimed.options, kind, &self.caps);
        limits.deadline = claimed.deadline;
        let max_attempts = retry_policy(&claimed.options, kind).max_attempts;
        Attempt {
            info: job_info(&claimed, attempt_number, max_attempts),
            input: claimed.payload,
            args: claimed.options.args,
            env: environment(claimed.world, claimed.grants.env, claimed.options.env),
            deadline: claimed.sent + limits.deadline,
            lease_until: self.inflight.lease_until(key),
            limits,
            last_checkpoint: claimed.checkpoint,
            resumed: claimed.resumed,
            host: Arc::new(host),
        }
    }
}

/// Where an attempt runs.
enum Place<'a> {
    /// On one of this process's guest threads.
    Here(Prepared),
    /// In a process of its own, for which there is room, from this artefact.
    Apart(&'a Apart, Room, Artefact),
}

/// How often in a row the job was given back: the claims that nothing was counted for.
fn times_given_back(claimed: &Claimed) -> u32 {
    let counted = i64::from(claimed.counters.attempts) + i64::from(claimed.counters.crashes);
    u32::try_from(claimed.key.run_lease - 1 - counted).unwrap_or(0)
}

/// Whether loading took so much of the deadline that the attempt would not be a fair one. A
/// component that is thrown out again and again is run late rather than never.
fn overslept(claimed: &Claimed, loading: Duration) -> bool {
    loading > claimed.deadline / 4 && times_given_back(claimed) < MAX_LATE_LOADS
}

/// What a failure of the sandbox means for the job.
fn as_decided(mut failure: Failure, given_back: u32, draining: bool) -> Failure {
    if failure.class != FailureClass::Released || draining || failure.code == "loading" {
        return failure;
    }
    if HOST_FAULTS.contains(&failure.code.as_str()) {
        // It may be this guest that does it, every time: it has a crash budget and no more.
        failure.class = FailureClass::Lost;
        return failure;
    }
    // This host cannot run it now. It may be able to soon, or another host is.
    let delay = MIN_GIVE_BACK.saturating_mul(2_u32.saturating_pow(given_back.min(5)));
    failure.advice = RetryAdvice::After(delay);
    failure
}

/// A future of any kind, for where two kinds meet.
type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An attempt that must not run here, on a worker that has no other place for it.
fn no_wall() -> Failure {
    Failure::new(
        FailureClass::Released,
        "no-process",
        "this worker runs no attempts in processes of their own",
    )
}

/// Nothing is compiled here, which is nobody's fault but this host's.
fn no_compiler(error: &CompilerError) -> Failure {
    warn!(error = chain(error), "a job's component could not be compiled");
    let message = "this worker could not compile the component";
    Failure::new(FailureClass::Released, "no-compiler", message)
}

/// An attempt that does not get a process of its own soon enough, and must not run here.
fn crowded() -> Failure {
    Failure::new(
        FailureClass::Released,
        "crowded",
        "this worker runs as many jobs in processes of their own as it may",
    )
}

/// What the database did not give: for now, or because it is not readable.
fn unread(error: &StoreError) -> Failure {
    warn!(error = chain(error), "a job's component or description could not be read");
    let class =
        if error.is_transient() { FailureClass::Released } else { FailureClass::NotRunnable };
    Failure::new(class, "unreadable", error.to_string())
}

/// Forgets an attempt whose task ends in a way that nobody foresaw.
struct Forgotten<'a> {
    executor: &'a Executor,
    key: LeaseKey,
    armed: bool,
}

impl Forgotten<'_> {
    /// The attempt is somebody else's to forget.
    fn disarm(mut self) {
        self.armed = false;
    }
}

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.executor.inflight.remove(self.key);
        }
    }
}

fn not_started(reason: KillReason) -> Failure {
    let (class, message) = match reason {
        KillReason::Cancelled => (FailureClass::Cancelled, "cancelled before it started"),
        KillReason::LeaseLost => (FailureClass::Lost, "the lease was lost before it started"),
        KillReason::Shutdown => (FailureClass::Released, "the worker shuts down"),
    };
    Failure::new(class, class.as_str(), message)
}

fn job_info(claimed: &Claimed, attempt: u32, max_attempts: u32) -> JobInfo {
    let metadata = &claimed.options.metadata;
    JobInfo {
        id: claimed.key.job.to_string(),
        kind: claimed.kind.to_string(),
        queue: claimed.queue.to_string(),
        tenant: claimed.tenant_name.clone(),
        attempt,
        max_attempts,
        priority: claimed.priority.get(),
        created_at: u64::try_from(claimed.created_at.timestamp_millis()).unwrap_or(0),
        deadline_ms: u64::try_from(claimed.deadline.as_millis()).unwrap_or(u64::MAX),
        // The id is unique for ever and the same in every attempt, which is all that is needed.
        idempotency_key: claimed.key.job.to_string(),
        workflow: None,
        metadata: metadata.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
    }
}

/// The manifest's variables, and for command jobs the job's own over them.
fn environment(
    world: Option<World>,
    granted: BTreeMap<String, String>,
    own: BTreeMap<String, String>,
) -> Vec<(String, String)> {
    let mut env = granted;
    if world == Some(World::Command) {
        env.extend(own);
    }
    env.into_iter().collect()
}
