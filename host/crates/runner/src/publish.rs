//! From uploaded bytes to a version that can run.
//!
//! A version is stored only after everything that could refuse it has agreed: the shape of the
//! file, its imports, the compiler, one instantiation and its own description. Until the last
//! step nothing is written, so there is nothing to clean up after a refusal.

use crate::checks;
use crate::error::{ErrorKind, kind_of_store_error};
use crate::modules::{LoadError, Modules};
use crate::schema::Schema;
use bytes::Bytes;
use cofferdam_core::hint::Hint;
use cofferdam_core::ids::TenantId;
use cofferdam_core::limits::{Limits, MAX_COMPONENT};
use cofferdam_core::manifest::Manifest;
use cofferdam_core::module::{Digest, KindInfo, VersionName, World};
use cofferdam_core::name::{KindName, ModuleName};
use cofferdam_core::settings::KindSettings;
use cofferdam_core::units::format_size;
use cofferdam_sandbox::Reject;
use cofferdam_store::{NewVersion, Store, StoreError};
use std::sync::Arc;
use std::time::Instant;
use thiserror::Error;

/// What to publish besides the bytes.
#[derive(Clone, Debug)]
pub struct PublishRequest {
    /// The module's name; wins over the manifest's.
    pub name: Option<ModuleName>,
    /// The version's name; wins over the manifest's. Counted up when neither says one.
    pub version: Option<VersionName>,
    /// What the author asks for.
    pub manifest: Manifest,
    /// Whether jobs that name no version get this one from now on.
    pub activate: bool,
}

/// A version that was published.
#[derive(Clone, Debug)]
pub struct PublishedModule {
    /// The module.
    pub name: ModuleName,
    /// The version.
    pub version: VersionName,
    /// SHA-256 of the component.
    pub digest: Digest,
    /// Handler or command.
    pub world: World,
    /// What it handles.
    pub kinds: Vec<KindInfo>,
    /// The interfaces that it imports.
    pub imports: Vec<String>,
    /// Whether it is new: `false` when the same bytes were already there under this name.
    pub created: bool,
    /// Whether it is the current version.
    pub active: bool,
    /// The size of the component.
    pub bytes: u64,
    /// How long the compiler took, in milliseconds.
    pub compile_ms: u64,
}

/// Why a version was not published. Nothing was stored.
#[derive(Debug, Error)]
pub enum PublishError {
    /// Neither the request nor the manifest names the module.
    #[error("the module has no name")]
    NoName,
    /// The component was refused.
    #[error(transparent)]
    Rejected(Arc<Reject>),
    /// The manifest speaks of a kind that the component does not handle.
    #[error("the manifest has a section for `{kind}`, but the component handles {handles}")]
    UnknownKind {
        /// The section.
        kind: KindName,
        /// What the component handles.
        handles: String,
    },
    /// A kind's input schema is no JSON Schema.
    #[error("the input schema of `{kind}` cannot be used: {problem}")]
    Schema {
        /// The kind.
        kind: KindName,
        /// What is wrong with its schema.
        problem: String,
    },
    /// The manifest asks for more than can be granted: a sentence.
    #[error("{0}")]
    Grants(String),
    /// A kind's attempts could not even start.
    #[error("`{kind}` may have {} of memory, and the component begins with {}", format_size(*.limit), format_size(*.needed))]
    Memory {
        /// The kind.
        kind: KindName,
        /// Its limit, in bytes.
        limit: u64,
        /// What the component begins with, in bytes.
        needed: u64,
    },
    /// The database refused or is away.
    #[error("the version could not be stored")]
    Store(#[from] StoreError),
    /// It could not be compiled, which is not the component's fault.
    #[error("the component could not be compiled here")]
    Load(#[source] LoadError),
    /// A task died.
    #[error("checking the component did not come to an end")]
    Interrupted(#[source] tokio::task::JoinError),
}

impl From<Reject> for PublishError {
    fn from(reject: Reject) -> Self {
        Self::Rejected(Arc::new(reject))
    }
}

impl From<LoadError> for PublishError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Rejected(reject) => Self::Rejected(reject),
            error => Self::Load(error),
        }
    }
}

impl PublishError {
    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Rejected(reject) => match **reject {
                Reject::TooLarge { .. } => ErrorKind::TooLarge,
                Reject::Busy(_) => ErrorKind::Unavailable,
                _ => ErrorKind::Invalid,
            },
            Self::NoName
            | Self::UnknownKind { .. }
            | Self::Schema { .. }
            | Self::Memory { .. }
            | Self::Grants(_) => ErrorKind::Invalid,
            Self::Load(LoadError::Compiler(_)) => ErrorKind::Unavailable,
            Self::Store(StoreError::VersionConflict { .. }) => ErrorKind::Conflict,
            Self::Store(error) => kind_of_store_error(error),
            Self::Load(_) | Self::Interrupted(_) => ErrorKind::Internal,
        }
    }

    /// A short word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoName => "no-module-name",
            Self::Rejected(reject) => reject.code(),
            Self::UnknownKind { .. } => "unknown-kind",
            Self::Schema { .. } => "bad-schema",
            Self::Grants(_) => "bad-grants",
            Self::Memory { .. } => "memory-too-small",
            Self::Load(LoadError::Compiler(_)) => "compiler-unavailable",
            Self::Store(StoreError::VersionConflict { .. }) => "version-conflict",
            Self::Store(error) if error.is_full() => "database-full",
            Self::Store(error) if error.is_transient() => "database-unavailable",
            Self::Store(_) | Self::Load(_) | Self::Interrupted(_) => "internal",
        }
    }
}

impl Hint for PublishError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::NoName => {
                Some("pass --name, or set `name` under [module] in cofferdam.toml".to_owned())
            }
            Self::Rejected(reject) => reject.hint(),
            Self::UnknownKind { .. } => {
                Some("a kind is named after its #[handler] function, with hyphens".to_owned())
            }
            Self::Store(error) => error.hint(),
            Self::Memory { needed, .. } => {
                Some(format!("set `memory` to {} or more", format_size(*needed)))
            }
            Self::Load(LoadError::Compiler(_)) => {
                Some("try again in a moment; the server's log says why".to_owned())
            }
            Self::Schema { .. } | Self::Grants(_) | Self::Load(_) | Self::Interrupted(_) => None,
        }
    }
}

/// Publishes versions.
#[derive(Clone, Debug)]
pub struct Publisher {
    store: Store,
    modules: Modules,
}

impl Publisher {
    /// A publisher that leaves what it compiles in `modules`, so that a worker of the same
    /// process need not compile it again.
    pub fn new(store: Store, modules: Modules) -> Self {
        Self { store, modules }
    }

    /// Publishes `bytes`. Takes seconds for a large component.
    pub async fn publish(
        &self,
        tenant: TenantId,
        bytes: Vec<u8>,
        request: PublishRequest,
    ) -> Result<PublishedModule, PublishError> {
        let manifest = request.manifest;
        let name =
            request.name.or_else(|| manifest.module.name.clone()).ok_or(PublishError::NoName)?;
        let version = request.version.or_else(|| manifest.module.version.clone());
        manifest.grants.check().map_err(PublishError::Grants)?;
        if bytes.len() as u64 > MAX_COMPONENT {
            let size = bytes.len() as u64;
            return Err(Reject::TooLarge { bytes: size, max: MAX_COMPONENT }.into());
        }

        let sandbox = self.modules.sandbox().clone();
        let inspection = tokio::task::spawn_blocking(move || sandbox.inspect(&bytes))
            .await
            .map_err(PublishError::Interrupted)??;
        let digest = Digest::of(&inspection.component);

        let started = Instant::now();
        let component = Bytes::from(inspection.component);
        let prepared = match self.modules.at_hand(digest) {
            // The same bytes under another name, or once more.
            Some(prepared) => prepared,
            None => self.modules.prepare(tenant, component.clone()).await?,
        };
        let compile_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);

        let kinds = self.modules.sandbox().describe(&prepared).await?;
        check_kinds(&kinds, &manifest)?;
        check_schemas(&kinds).await?;
        let settled: Vec<_> = kinds
            .iter()
            .map(|kind| (kind.clone(), KindSettings::settle(kind, &manifest)))
            .collect();
        check_memory(&settled, prepared.initial_memory())?;

        let component_bytes = component.len();
        let published = self
            .store
            .publish(&NewVersion {
                tenant,
                name: name.clone(),
                version,
                digest,
                bytes: component.into(),
                world: inspection.world,
                imports: inspection.imports.clone(),
                manifest,
                kinds: settled,
                activate: request.activate,
            })
            .await?;
        Ok(PublishedModule {
            name,
            version: published.version_name,
            digest,
            world: inspection.world,
            kinds,
            imports: inspection.imports,
            created: published.created,
            active: published.active,
            bytes: component_bytes as u64,
            compile_ms,
        })
    }
}

/// Refuses a limit with which no attempt of the kind could start. A job may still ask for less.
fn check_memory(kinds: &[(KindInfo, KindSettings)], needed: u64) -> Result<(), PublishError> {
    for (kind, settings) in kinds {
        let limit = settings.limits.memory_bytes.unwrap_or(Limits::default().memory_bytes);
        if needed > limit {
            return Err(PublishError::Memory { kind: kind.name.clone(), limit, needed });
        }
    }
    Ok(())
}

fn check_kinds(kinds: &[KindInfo], manifest: &Manifest) -> Result<(), PublishError> {
    for kind in manifest.kinds.keys() {
        if !kinds.iter().any(|info| info.name == *kind) {
            let names: Vec<_> = kinds.iter().map(|info| format!("`{}`", info.name)).collect();
            return Err(PublishError::UnknownKind {
                kind: kind.clone(),
                handles: names.join(", "),
            });
        }
    }
    Ok(())
}

async fn check_schemas(kinds: &[KindInfo]) -> Result<(), PublishError> {
    for kind in kinds {
        let Some(schema) = kind.input_schema.clone() else { continue };
        let compiled = checks::elsewhere(move || Schema::compile(&schema).map(drop)).await;
        compiled
            .map_err(PublishError::Interrupted)?
            .map_err(|problem| PublishError::Schema { kind: kind.name.clone(), problem })?;
    }
    Ok(())
}
