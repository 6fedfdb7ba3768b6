//! The dead-letter queue: jobs that ended as `failed` or `dead`.

use super::schema::{ClassWord, StateWord};
use super::{ErrorView, LimitsView, LogView, RetryVersion, UsageView};
use cofferdam_core::Time;
use cofferdam_core::class::FailureClass;
use cofferdam_core::ids::JobId;
use cofferdam_core::limits::Limits;
use cofferdam_core::module::{Digest, VersionName};
use cofferdam_core::name::{KindName, ModuleName, QueueName};
use cofferdam_core::settings;
use cofferdam_core::state::JobState;
use cofferdam_core::units;
use cofferdam_store::{DlqEntry, DlqSummary};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use utoipa::{IntoParams, ToSchema};

/// A dead letter in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DlqView {
    /// The job.
    #[schema(value_type = String, format = Uuid)]
    pub id: JobId,
    /// `failed` or `dead`.
    #[schema(value_type = StateWord)]
    pub state: JobState,
    /// Its module.
    #[schema(value_type = String)]
    pub module: ModuleName,
    /// The version that it ran last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub version: Option<VersionName>,
    /// Its kind.
    #[schema(value_type = String)]
    pub kind: KindName,
    /// Its queue.
    #[schema(value_type = String)]
    pub queue: QueueName,
    /// Why its last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ClassWord>)]
    pub class: Option<FailureClass>,
    /// The same for programs, as the handler or the sandbox has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The same for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Which budget a dead job used up: `attempts` or `crashed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The attempts that counted against `max_attempts`.
    pub attempts: u32,
    /// The attempts that were lost with their workers.
    pub crashes: u32,
    /// When it was submitted.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Time,
    /// When it ended.
    #[schema(value_type = String, format = DateTime)]
    pub finished_at: Time,
}

impl From<DlqSummary> for DlqView {
    fn from(letter: DlqSummary) -> Self {
        Self {
            id: letter.id,
            state: letter.state,
            module: letter.module,
            version: letter.version,
            kind: letter.kind,
            queue: letter.queue,
            class: Some(letter.class),
            code: Some(letter.code),
            message: Some(letter.message),
            reason: letter.reason,
            attempts: letter.counters.attempts,
            crashes: letter.counters.crashes,
            created_at: letter.created_at,
            finished_at: letter.finished_at,
        }
    }
}

/// A dead letter, whole, without its input: see `GET /api/v1/jobs/{id}/input`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DlqDetail {
    /// What lists show of it.
    #[serde(flatten)]
    pub letter: DlqView,
    /// The SHA-256 digest of the component that it ran last, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub digest: Option<Digest>,
    /// Bytes of input.
    pub input_bytes: u64,
    /// The attempts that did not succeed, oldest first.
    pub errors: Vec<ErrorView>,
    /// The end of its log, oldest line first.
    pub log: Vec<LogView>,
    /// What an attempt of it might use.
    pub limits: LimitsView,
    /// What its last attempt used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageView>,
    /// What its submitter said about it.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
}

impl From<DlqEntry> for DlqDetail {
    fn from(entry: DlqEntry) -> Self {
        let kind = entry.kind_settings.unwrap_or_default();
        let limits = settings::limits(&entry.options, &kind, &Limits::caps());
        Self {
            letter: DlqView::from(entry.summary),
            digest: entry.version.map(|version| version.digest),
            input_bytes: entry.payload_bytes,
            errors: entry.errors.into_iter().map(ErrorView::from).collect(),
            log: entry.log.into_iter().map(LogView::from).collect(),
            limits: LimitsView::from(&limits),
            usage: Some(UsageView::from(entry.usage)),
            metadata: entry.options.metadata,
        }
    }
}

/// Which dead letters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DlqQuery {
    /// Only those of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub kind: Option<KindName>,
    /// The `next` of the page before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// How many items at most, 1 to 200; 50 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
}

/// Which dead letters to retry: exactly one of `ids`, `kind` and `all`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryAllBody {
    /// These jobs, at most 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>, max_items = 1000)]
    pub ids: Vec<JobId>,
    /// Those of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub kind: Option<KindName>,
    /// Every one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// `same` (the default), `current`, or the name of a version.
    #[serde(default)]
    #[schema(value_type = String, examples("same", "current", "1.4.0"))]
    pub version: RetryVersion,
}

/// How many dead letters were retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Retried {
    /// The number.
    pub retried: u64,
    /// How many were left where they are, because their module has no version as asked for.
    #[serde(default)]
    pub skipped: u64,
}

/// Which dead letters to delete: exactly one of `ids`, `kind` and `all`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PurgeBody {
    /// These jobs, at most 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>, max_items = 1000)]
    pub ids: Vec<JobId>,
    /// Those of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub kind: Option<KindName>,
    /// Every one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// Of these only those that ended longer ago than this.
    #[serde(default, with = "units::optional_duration", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, examples("30d"))]
    pub older_than: Option<Duration>,
}

/// How many dead letters were deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Purged {
    /// The number.
    pub purged: u64,
}
