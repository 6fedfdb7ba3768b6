//! Jobs as they are.

use super::LimitsView;
use super::schema::{ClassWord, StateWord};
use cofferdam_core::Time;
use cofferdam_core::class::FailureClass;
use cofferdam_core::history::ErrorEntry;
use cofferdam_core::ids::{JobId, RunLease, WorkerId};
use cofferdam_core::job::Priority;
use cofferdam_core::limits::Limits;
use cofferdam_core::module::VersionName;
use cofferdam_core::name::{KindName, ModuleName, QueueName};
use cofferdam_core::outcome::Usage;
use cofferdam_core::settings;
use cofferdam_core::state::JobState;
use cofferdam_core::units;
use cofferdam_store::{self as store, JobDetail, JobProgress};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use utoipa::{IntoParams, ToSchema};

/// A job in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobSummary {
    /// Its id.
    #[schema(value_type = String, format = Uuid)]
    pub id: JobId,
    /// Where it is.
    #[schema(value_type = StateWord)]
    pub state: JobState,
    /// Its module.
    #[schema(value_type = String)]
    pub module: ModuleName,
    /// The version that it asks for or, once it ran, the one that it ran last. Left out for a job
    /// that takes whatever is current when it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub version: Option<VersionName>,
    /// Its kind.
    #[schema(value_type = String)]
    pub kind: KindName,
    /// Its queue.
    #[schema(value_type = String)]
    pub queue: QueueName,
    /// 1 (highest) to 4.
    #[schema(value_type = u8, minimum = 1, maximum = 4)]
    pub priority: Priority,
    /// The attempts that count against `max_attempts`, the one that runs or succeeded included.
    pub attempts: u32,
    /// When it was submitted.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Time,
    /// When it is or was due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub run_at: Option<Time>,
    /// When its last attempt started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Time>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished_at: Option<Time>,
    /// Why its last failed attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ClassWord>)]
    pub class: Option<FailureClass>,
    /// The message of its last failed attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The attempts that count, which the platform counts when they have failed.
fn attempts(state: JobState, failed: u32) -> u32 {
    let one_more = matches!(state, JobState::Running | JobState::Completed);
    failed.saturating_add(u32::from(one_more))
}

impl From<store::JobSummary> for JobSummary {
    fn from(job: store::JobSummary) -> Self {
        Self {
            id: job.id,
            state: job.state,
            module: job.module,
            version: job.version,
            kind: job.kind,
            queue: job.queue,
            priority: job.priority,
            attempts: attempts(job.state, job.counters.attempts),
            created_at: job.created_at,
            run_at: Some(job.run_at),
            started_at: job.started_at,
            finished_at: job.finished_at,
            class: job.class,
            message: job.message,
        }
    }
}

/// A job, whole, without its input and output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobView {
    /// What lists show of it.
    #[serde(flatten)]
    pub summary: JobSummary,
    /// How often it may be attempted.
    pub max_attempts: u32,
    /// The attempts that were lost with their workers.
    pub crashes: u32,
    /// The attempts that did not succeed, oldest first.
    pub errors: Vec<ErrorView>,
    /// What its last attempt used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageView>,
    /// What its handler said of its progress last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressView>,
    /// The worker that runs it, or ran it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Uuid)]
    pub worker: Option<WorkerId>,
    /// When the attempt that runs now is killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub deadline_at: Option<Time>,
    /// What an attempt of it may use.
    pub limits: LimitsView,
    /// Arguments of a command job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// What its submitter said about it.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// Bytes of input.
    pub input_bytes: u64,
    /// Bytes of output, once it completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// What cancelled it: `user`, `parent_failed`, `parent_cancelled`, `tenant` or `expired`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Which budget a dead job used up, `attempts` or `crashed`; or `quarantined`, of a job that
    /// cannot run because its version is in quarantine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl From<JobDetail> for JobView {
    fn from(job: JobDetail) -> Self {
        let kind = job.kind_settings.unwrap_or_default();
        let limits = settings::limits(&job.options, &kind, &Limits::caps());
        Self {
            max_attempts: settings::retry_policy(&job.options, &kind).max_attempts,
            crashes: job.counters.crashes,
            errors: job.errors.into_iter().map(ErrorView::from).collect(),
            usage: job.usage.map(UsageView::from),
            progress: job
                .progress
                .map(|JobProgress { percent, note }| ProgressView { percent, note }),
            worker: job.worker,
            deadline_at: job.deadline_at,
            limits: LimitsView::from(&limits),
            args: job.options.args,
            metadata: job.options.metadata,
            input_bytes: job.payload_bytes,
            output_bytes: job.output_bytes,
            cause: job.cause,
            reason: job.reason,
            summary: JobSummary {
                id: job.id,
                state: job.state,
                module: job.module,
                version: job.version.map(|version| version.name),
                kind: job.kind,
                queue: job.queue,
                priority: job.priority,
                attempts: attempts(job.state, job.counters.attempts),
                created_at: job.created_at,
                run_at: Some(job.run_at),
                started_at: job.started_at,
                finished_at: job.finished_at,
                class: job.class,
                message: job.message,
            },
        }
    }
}

/// An attempt that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorView {
    /// When it ended.
    #[schema(value_type = String, format = DateTime)]
    pub at: Time,
    /// Its number, from 1.
    pub attempt: u32,
    /// The claim that it was.
    #[schema(value_type = i64)]
    pub run_lease: RunLease,
    /// The worker that ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Uuid)]
    pub worker: Option<WorkerId>,
    /// Why it ended.
    #[schema(value_type = ClassWord)]
    pub class: FailureClass,
    /// The same for programs, as the handler or the sandbox has it.
    pub code: String,
    /// The same for people.
    pub message: String,
    /// The guest's frames, innermost first, one a line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub backtrace: String,
}

impl From<ErrorEntry> for ErrorView {
    fn from(entry: ErrorEntry) -> Self {
        let ErrorEntry { at, attempt, run_lease, worker, class, code, message, backtrace } = entry;
        Self { at, attempt, run_lease, worker, class, code, message, backtrace }
    }
}

/// What an attempt used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsageView {
    /// Fuel units.
    pub fuel: u64,
    /// Microseconds of CPU time.
    pub cpu_micros: u64,
    /// Microseconds from start to end.
    pub wall_micros: u64,
    /// The largest sum of linear memories, in bytes.
    pub peak_memory_bytes: u64,
    /// Bytes of log that the guest wrote, kept or not.
    pub log_bytes: u64,
    /// Bytes of output.
    pub output_bytes: u64,
}

impl From<Usage> for UsageView {
    fn from(usage: Usage) -> Self {
        let Usage { fuel, cpu_micros, wall_micros, peak_memory_bytes, log_bytes, output_bytes } =
            usage;
        Self { fuel, cpu_micros, wall_micros, peak_memory_bytes, log_bytes, output_bytes }
    }
}

/// How far a job is, in its handler's own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProgressView {
    /// 0 to 100.
    #[schema(minimum = 0, maximum = 100)]
    pub percent: u8,
    /// What it is doing.
    pub note: String,
}

/// Which jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct JobQuery {
    /// Only jobs in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<StateWord>)]
    pub state: Option<JobState>,
    /// Only jobs of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub kind: Option<KindName>,
    /// Only jobs of this queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub queue: Option<QueueName>,
    /// Only jobs of this module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub module: Option<ModuleName>,
    /// The `next` of the page before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// How many items at most, 1 to 200; 50 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
}

/// How long to wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WaitQuery {
    /// At most this long, up to `60s`; `30s` when left out.
    #[serde(default, with = "units::optional_duration", skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>, example = "30s")]
    pub timeout: Option<Duration>,
}

/// What a cancel did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CancelAnswer {
    /// The job.
    #[schema(value_type = String, format = Uuid)]
    pub id: JobId,
    /// `cancelled`, or still `running` when its worker has to kill it first.
    #[schema(value_type = StateWord)]
    pub state: JobState,
}

/// Which version a job that is retried runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum RetryVersion {
    /// The one that it asked for when it was submitted.
    #[default]
    Same,
    /// The one that is current now.
    Current,
    /// This one.
    Named(VersionName),
}

impl TryFrom<String> for RetryVersion {
    type Error = cofferdam_core::module::RefError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.as_str() {
            "same" => Ok(Self::Same),
            "current" => Ok(Self::Current),
            _ => VersionName::new(text).map(Self::Named),
        }
    }
}

impl From<RetryVersion> for String {
    fn from(version: RetryVersion) -> Self {
        match version {
            RetryVersion::Same => "same".to_owned(),
            RetryVersion::Current => "current".to_owned(),
            RetryVersion::Named(version) => version.into(),
        }
    }
}

/// How to retry one job. May be left out altogether.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryBody {
    /// `same` (the default), `current`, or the name of a version.
    #[serde(default)]
    #[schema(value_type = String, examples("same", "current", "1.4.0"))]
    pub version: RetryVersion,
}

/// What a retry did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RetryAnswer {
    /// The job.
    #[schema(value_type = String, format = Uuid)]
    pub id: JobId,
    /// The state that it is in now.
    #[schema(value_type = StateWord)]
    pub state: JobState,
}
