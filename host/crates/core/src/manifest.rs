//! The manifest: what a module's author asks for. `cofferdam.toml` beside the handler.

use crate::class::FailureClass;
use crate::limits::LimitWish;
use crate::module::VersionName;
use crate::name::{KindName, ModuleName, QueueName};
use crate::retry::Backoff;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most variables that a manifest may set, and the longest name and value, in bytes.
pub const MAX_ENV: (usize, usize) = (64, 4096);

/// A whole manifest. Unknown keys are errors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Which module this is.
    #[serde(default)]
    pub module: ModuleSection,
    /// Ceilings asked for; the tenant's caps win.
    #[serde(default)]
    pub limits: LimitWish,
    /// Capabilities asked for. Nothing is granted that is not asked for here.
    #[serde(default)]
    pub grants: Grants,
    /// Options of single kinds.
    #[serde(default)]
    pub kinds: BTreeMap<KindName, KindSection>,
}

/// `[module]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModuleSection {
    /// The module's name; `--name` wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ModuleName>,
    /// The version's name; counted up when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<VersionName>,
}

/// `[grants]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grants {
    /// Environment variables of the guest. It sees no others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

/// `[kinds.NAME]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindSection {
    /// The queue of its jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueName>,
    /// How often a job may be attempted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// How the delay between attempts grows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    /// Failure classes that end a job at once, but are retried for this kind: `fuel`, `memory`
    /// and the other limits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retry_classes: Vec<FailureClass>,
    /// Wall-clock time, fuel and memory of this kind.
    #[serde(default)]
    pub limits: LimitWish,
}
