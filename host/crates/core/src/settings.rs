//! How the options of a job, a kind and a tenant add up.

use crate::class::FailureClass;
use crate::fail::RetryPolicy;
use crate::job::{DEFAULT_MAX_ATTEMPTS, JobOptions, MAX_MAX_ATTEMPTS};
use crate::limits::{LimitWish, Limits};
use crate::manifest::Manifest;
use crate::module::KindInfo;
use crate::name::QueueName;
use crate::retry::Backoff;
use serde::{Deserialize, Serialize};

/// Where an attempt runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// In the worker's process, on a guest thread, beside others.
    #[default]
    Thread,
    /// In a process of its own, behind a second wall.
    Process,
}

impl Isolation {
    /// As in the manifest.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Process => "process",
        }
    }
}

/// A text that is no isolation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither `thread` nor `process`")]
pub struct IsolationError(String);

impl crate::hint::Hint for IsolationError {}

impl std::str::FromStr for Isolation {
    type Err = IsolationError;
    fn from_str(text: &str) -> Result<Self, IsolationError> {
        [Self::Thread, Self::Process]
            .into_iter()
            .find(|isolation| isolation.as_str() == text)
            .ok_or_else(|| IsolationError(text.chars().take(40).collect()))
    }
}

/// The options of one kind of one version, settled when the version is published: the manifest's
/// section of the kind over what the component describes over the manifest's `[limits]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KindSettings {
    /// The queue of its jobs.
    #[serde(default)]
    pub queue: Option<QueueName>,
    /// How often a job may be attempted.
    #[serde(default)]
    pub max_attempts: Option<u32>,
    /// How the delay between attempts grows.
    #[serde(default)]
    pub backoff: Option<Backoff>,
    /// Failure classes that are retried although they would end a job at once.
    #[serde(default)]
    pub retry_classes: Vec<FailureClass>,
    /// Wall-clock time, fuel and memory.
    #[serde(default)]
    pub limits: LimitWish,
    /// Where its attempts run.
    #[serde(default)]
    pub isolation: Isolation,
}

impl KindSettings {
    /// Settles the options of a kind.
    pub fn settle(kind: &KindInfo, manifest: &Manifest) -> Self {
        let described =
            LimitWish { deadline: kind.deadline, fuel: kind.fuel, memory_bytes: kind.memory_bytes };
        let section = manifest.kinds.get(&kind.name).cloned().unwrap_or_default();
        Self {
            queue: section.queue,
            max_attempts: section.max_attempts.or(kind.max_attempts),
            backoff: section.backoff,
            retry_classes: section.retry_classes,
            limits: section.limits.over(&described).over(&manifest.limits),
            isolation: manifest.module.isolation.unwrap_or_default(),
        }
    }
}

/// The limits of an attempt: job over kind over default, bounded by the caps.
pub fn limits(job: &JobOptions, kind: &KindSettings, caps: &Limits) -> Limits {
    Limits::default().with(&job.limits.over(&kind.limits)).capped(caps)
}

/// The retry policy of a job: job over kind over default.
pub fn retry_policy(job: &JobOptions, kind: &KindSettings) -> RetryPolicy {
    let max_attempts = job.max_attempts.or(kind.max_attempts).unwrap_or(DEFAULT_MAX_ATTEMPTS);
    RetryPolicy {
        max_attempts: max_attempts.clamp(1, MAX_MAX_ATTEMPTS),
        backoff: job.backoff.or(kind.backoff).unwrap_or_default(),
        retry_classes: kind.retry_classes.clone(),
        ..RetryPolicy::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::KindName;
    use std::time::Duration;

    #[test]
    fn the_nearest_word_wins() {
        let kind = KindInfo {
            name: KindName::new("resize").unwrap(),
            description: String::new(),
            input_schema: None,
            deadline: Some(Duration::from_secs(30)),
            memory_bytes: None,
            fuel: Some(7),
            max_attempts: Some(2),
        };
        let manifest: Manifest = serde_json::from_str(
            r#"{"limits": {"memory": "64MiB", "deadline": "99s"},
                "kinds": {"resize": {"max_attempts": 6, "limits": {"fuel": 9},
                                     "retry_classes": ["fuel"]}}}"#,
        )
        .unwrap();

        let settings = KindSettings::settle(&kind, &manifest);
        assert_eq!(settings.max_attempts, Some(6));
        let policy = retry_policy(&JobOptions::default(), &settings);
        assert_eq!(policy.retry_classes, [FailureClass::Fuel]);
        assert_eq!(settings.limits.deadline, Some(Duration::from_secs(30)));
        assert_eq!(settings.limits.fuel, Some(9));
        assert_eq!(settings.limits.memory_bytes, Some(64 << 20));

        let job = JobOptions { max_attempts: Some(1), ..JobOptions::default() };
        assert_eq!(retry_policy(&job, &settings).max_attempts, 1);
        assert_eq!(limits(&job, &settings, &Limits::caps()).fuel, 9);
    }
}
