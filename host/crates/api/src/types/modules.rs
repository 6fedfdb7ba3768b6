//! Modules and their versions.

use super::schema::{BackoffText, WorldWord};
use cofferdam_core::Time;
use cofferdam_core::manifest::Manifest;
use cofferdam_core::module::{Digest, KindInfo, VersionName, World};
use cofferdam_core::name::{KindName, ModuleName, QueueName};
use cofferdam_core::retry::Backoff;
use cofferdam_core::settings::KindSettings;
use cofferdam_core::units;
use cofferdam_store as store;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::{IntoParams, ToSchema};

/// How to publish.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PublishQuery {
    /// The module's name, over the one in the manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub name: Option<ModuleName>,
    /// The version's name, over the one in the manifest; counted up when neither says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub version: Option<VersionName>,
    /// Whether the version becomes current; true when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activate: Option<bool>,
}

/// The parts of an upload. Only their description: they are read as they come.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the multipart body in the OpenAPI document")]
pub struct PublishForm {
    /// The manifest in JSON (`application/json`). May be left out; must come first.
    #[schema(value_type = Option<Object>)]
    manifest: Option<Manifest>,
    /// The component (`application/wasm`).
    #[schema(value_type = String, format = Binary)]
    component: Vec<u8>,
}

/// A version that was published now, or had been before with the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModuleVersion {
    /// The module.
    #[schema(value_type = String)]
    pub module: ModuleName,
    /// The version.
    #[schema(value_type = String)]
    pub version: VersionName,
    /// The SHA-256 digest of the component, in hexadecimal.
    #[schema(value_type = String)]
    pub digest: Digest,
    /// What it exports.
    #[schema(value_type = WorldWord)]
    pub world: World,
    /// Its kinds.
    pub kinds: Vec<KindView>,
    /// Its size.
    pub bytes: u64,
    /// The interfaces that it imports: its permissions.
    pub imports: Vec<String>,
    /// Whether it is new.
    pub created: bool,
    /// Whether it is the current version.
    pub active: bool,
    /// How long compiling it took, in milliseconds.
    pub compile_ms: u64,
}

/// A kind with its options as settled when its version was published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct KindView {
    /// Its name.
    #[schema(value_type = String)]
    pub name: KindName,
    /// A sentence for people.
    #[serde(default)]
    pub description: String,
    /// A JSON Schema that inputs must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<serde_json::Value>,
    /// The queue of its jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub queue: Option<QueueName>,
    /// How often a job may be attempted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// How the delay between attempts grows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BackoffText>)]
    pub backoff: Option<Backoff>,
    /// Wall-clock time of an attempt.
    #[serde(default, with = "units::optional_duration", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, examples("30s"))]
    pub deadline: Option<Duration>,
    /// Bytes of linear memory of an attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Fuel units of an attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
}

impl KindView {
    /// A kind and what was settled for it.
    pub fn new(kind: KindInfo, settings: KindSettings) -> Self {
        Self {
            name: kind.name,
            description: kind.description,
            input_schema: kind.input_schema,
            queue: settings.queue,
            max_attempts: settings.max_attempts,
            backoff: settings.backoff,
            deadline: settings.limits.deadline,
            memory_bytes: settings.limits.memory_bytes,
            fuel: settings.limits.fuel,
        }
    }
}

/// A module in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModuleView {
    /// Its name.
    #[schema(value_type = String)]
    pub name: ModuleName,
    /// The version that jobs run which ask for none.
    #[schema(value_type = Option<String>)]
    pub current: Option<VersionName>,
    /// Since when that one is in quarantine, and none of its jobs is claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub quarantined_at: Option<Time>,
    /// How many versions it has.
    pub versions: u64,
    /// When its first version was published.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Time,
    /// The kinds of the current version.
    #[schema(value_type = Vec<String>)]
    pub kinds: Vec<KindName>,
}

impl From<store::ModuleSummary> for ModuleView {
    fn from(module: store::ModuleSummary) -> Self {
        Self {
            name: module.name,
            current: module.current,
            quarantined_at: module.quarantined_at,
            versions: module.versions,
            created_at: module.created_at,
            kinds: module.kinds,
        }
    }
}

/// A module, whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModuleDetail {
    /// Its name.
    #[schema(value_type = String)]
    pub name: ModuleName,
    /// The version that jobs run which ask for none.
    #[schema(value_type = Option<String>)]
    pub current: Option<VersionName>,
    /// Its versions, newest first.
    pub versions: Vec<VersionView>,
    /// The kinds of the current version.
    pub kinds: Vec<KindView>,
}

impl From<store::ModuleDetail> for ModuleDetail {
    fn from(module: store::ModuleDetail) -> Self {
        let current = module.current().cloned();
        Self {
            current: current.as_ref().map(|version| version.name.clone()),
            versions: module.versions.iter().map(VersionView::from).collect(),
            kinds: current.map(|version| kinds(version.kinds)).unwrap_or_default(),
            name: module.name,
        }
    }
}

fn kinds(kinds: Vec<(KindInfo, KindSettings)>) -> Vec<KindView> {
    kinds.into_iter().map(|(kind, settings)| KindView::new(kind, settings)).collect()
}

/// A version in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VersionView {
    /// Its name.
    #[schema(value_type = String)]
    pub version: VersionName,
    /// The SHA-256 digest of its component, in hexadecimal.
    #[schema(value_type = String)]
    pub digest: Digest,
    /// What it exports.
    #[schema(value_type = WorldWord)]
    pub world: World,
    /// Its size.
    pub bytes: u64,
    /// When it was published.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Time,
    /// Whether it is the current version.
    pub active: bool,
    /// Since when its jobs are held back, because its guests kill the processes that they run in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub quarantined_at: Option<Time>,
    /// What it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine_reason: Option<String>,
}

impl From<&store::VersionDetail> for VersionView {
    fn from(version: &store::VersionDetail) -> Self {
        Self {
            version: version.name.clone(),
            digest: version.digest,
            world: version.world,
            bytes: version.bytes,
            created_at: version.created_at,
            active: version.active,
            quarantined_at: version.quarantined_at,
            quarantine_reason: version.quarantine_reason.clone(),
        }
    }
}

/// A version, whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct VersionDetail {
    /// The module.
    #[schema(value_type = String)]
    pub module: ModuleName,
    /// What lists show of it.
    #[serde(flatten)]
    pub version: VersionView,
    /// Its kinds.
    pub kinds: Vec<KindView>,
    /// The manifest that it was published with.
    #[schema(value_type = Object)]
    pub manifest: Manifest,
    /// The interfaces that it imports: its permissions.
    pub imports: Vec<String>,
}

impl VersionDetail {
    /// A version of a module.
    pub(crate) fn new(module: ModuleName, version: store::VersionDetail) -> Self {
        Self {
            module,
            version: VersionView::from(&version),
            kinds: kinds(version.kinds),
            manifest: version.manifest,
            imports: version.imports,
        }
    }
}
