//! The manifest: what a module's author asks for. `cofferdam.toml` beside the handler.

use crate::class::FailureClass;
use crate::egress::{HostRule, MAX_HOSTS};
use crate::limits::LimitWish;
use crate::module::VersionName;
use crate::name::{KindName, ModuleName, QueueName};
use crate::retry::Backoff;
use crate::secret::SecretName;
use crate::settings::Isolation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most variables that a manifest may set, and the longest name and value, in bytes.
pub const MAX_ENV: (usize, usize) = (64, 4096);

/// The most secrets that a manifest may name: all of them are opened for each attempt.
pub const MAX_GRANTED_SECRETS: usize = 32;

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
    /// Where its attempts run; beside others in the worker's process when left out. The operator
    /// may ask for more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
}

/// `[grants]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grants {
    /// Environment variables of the guest. It sees no others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Hosts that it may send requests to, where the operator allows them, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostRule>,
    /// Secrets of the tenant that it may use, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<SecretName>,
    /// How much a private folder at `/tmp` may hold, such as `64MiB`. There is none when left out.
    #[serde(
        with = "crate::units::optional_size",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub scratch: Option<u64>,
}

impl Grants {
    /// What is too much of something, as a sentence.
    pub fn check(&self) -> Result<(), String> {
        let (most, longest) = MAX_ENV;
        let variable = |(name, value): (&String, &String)| {
            name.is_empty()
                || name.len() > longest
                || value.len() > longest
                || name.contains(['\0', '='])
                || value.contains('\0')
        };
        if self.env.len() > most || self.env.iter().any(variable) {
            return Err(format!(
                "`grants.env` has more than {most} variables, one longer than {longest} bytes, one \
                 without a name, or a NUL byte"
            ));
        }
        if self.hosts.len() > MAX_HOSTS {
            return Err(format!("`grants.hosts` has more than {MAX_HOSTS} hosts"));
        }
        if self.secrets.len() > MAX_GRANTED_SECRETS {
            return Err(format!("`grants.secrets` has more than {MAX_GRANTED_SECRETS} names"));
        }
        Ok(())
    }
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
