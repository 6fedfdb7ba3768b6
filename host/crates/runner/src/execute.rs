//! Runs one claimed job: from the claim to an outcome that is on its way to the database.

use crate::error::chain;
use crate::finish::Ended;
use crate::host::Host;
use crate::inflight::InFlight;
use crate::logs::Buffers;
use crate::modules::{CheckError, LoadError, Modules};
use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::fail_attempt;
use cofferdam_core::history::bounded;
use cofferdam_core::limits::Limits;
use cofferdam_core::module::World;
use cofferdam_core::outcome::{End, Failure, Outcome, Usage};
use cofferdam_core::settings::{KindSettings, limits, retry_policy};
use cofferdam_sandbox::{Attempt, JobInfo, KillReason, Prepared};
use cofferdam_store::{Claimed, Finish, FinishEnd, Store};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tracing::{error, warn};

/// Everything that the attempts of a worker share.
pub(crate) struct Executor {
    pub(crate) store: Store,
    pub(crate) modules: Modules,
    pub(crate) inflight: Arc<InFlight>,
    pub(crate) buffers: Arc<Buffers>,
    pub(crate) caps: Limits,
    pub(crate) outcomes: mpsc::UnboundedSender<Ended>,
}

impl Executor {
    /// Runs the attempt and hands its outcome on. `sent` is when the claim was sent: the deadline
    /// that the database wrote counts from then at the earliest.
    pub(crate) async fn run(&self, claimed: Claimed, sent: Instant, slot: OwnedSemaphorePermit) {
        let key = claimed.key;
        let kind = claimed.kind_settings.clone().unwrap_or_default();
        let policy = retry_policy(&claimed.options, &kind);
        let counters = claimed.counters;

        let outcome = match self.prepare(&claimed).await {
            Ok(prepared) => self.attempt(&prepared, claimed, &kind, sent).await,
            Err(failure) => Outcome { end: End::Failed(failure), usage: Usage::default() },
        };

        let end = match outcome.end {
            End::Completed(output) => FinishEnd::Completed(output),
            // The lease is someone else's now, and so is the job.
            End::Failed(failure) if failure.class == FailureClass::Lost => {
                self.inflight.remove(key);
                self.buffers.close(key);
                return;
            }
            End::Failed(failure) => FinishEnd::Failed {
                verdict: fail_attempt(
                    failure.class,
                    failure.advice,
                    counters,
                    &policy,
                    rand::random::<f64>(),
                ),
                failure: bounded(failure),
            },
        };
        let finish = Finish { key, end, usage: outcome.usage };
        if self.outcomes.send(Ended { finish, slot }).is_err() {
            // The writer outlives every attempt, so this is a defect; the lease will be rescued.
            error!(lease = %key, "nobody writes outcomes any more");
        }
    }

    /// Has everything at hand that the attempt needs, or says why it cannot run.
    async fn prepare(&self, claimed: &Claimed) -> Result<Prepared, Failure> {
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
            let checked =
                self.modules.check_payload(version, &claimed.kind, &claimed.payload).await;
            match checked {
                Ok(()) => {}
                Err(CheckError::Mismatch(problem)) => {
                    return not_runnable("payload-mismatch", problem);
                }
                Err(error @ CheckError::Store(_)) => return Err(given_back(&error)),
            }
        }
        match self.modules.get(digest).await {
            Ok(prepared) => Ok(prepared),
            Err(error @ (LoadError::Missing(_) | LoadError::Corrupt { .. })) => {
                not_runnable("no-component", error.to_string())
            }
            Err(LoadError::Rejected(reject)) => not_runnable(reject.code(), reject.to_string()),
            Err(error @ LoadError::Interrupted) => {
                not_runnable("compile-failed", error.to_string())
            }
            Err(error @ LoadError::Store(_)) => Err(given_back(&error)),
        }
    }

    async fn attempt(
        &self,
        prepared: &Prepared,
        claimed: Claimed,
        kind: &KindSettings,
        sent: Instant,
    ) -> Outcome {
        let key = claimed.key;
        if let Some(reason) = self.inflight.killed(key) {
            return Outcome { end: End::Failed(not_started(reason)), usage: Usage::default() };
        }
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
        let running = self.modules.sandbox().run(
            prepared,
            Attempt {
                info: job_info(
                    &claimed,
                    attempt_number,
                    retry_policy(&claimed.options, kind).max_attempts,
                ),
                input: claimed.payload,
                args: claimed.options.args,
                env: environment(claimed.world, claimed.grants.env, claimed.options.env),
                deadline: sent + limits.deadline,
                limits,
                last_checkpoint: claimed.checkpoint,
                host: Arc::new(host),
            },
        );
        self.inflight.started(key, &running.kill);
        running.outcome().await
    }
}

/// The job goes back untouched: what failed is ours and passes.
fn given_back(error: &dyn std::error::Error) -> Failure {
    warn!(error = chain(error), "gave a job back before it started");
    Failure::new(FailureClass::Released, "load-failed", error.to_string())
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
