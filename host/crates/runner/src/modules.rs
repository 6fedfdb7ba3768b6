//! Compiled components and schemas at hand, by digest: in memory, else from the cache on disk, else
//! compiled in a process of its own.

use crate::checks;
use crate::schema::Schema;
use crate::share::Shared;
use crate::turns::Turns;
use bytes::Bytes;
use cofferdam_core::ids::{TenantId, VersionId};
use cofferdam_core::module::{Digest, KindInfo};
use cofferdam_core::name::KindName;
use cofferdam_sandbox::{Artefact, CompilerError, Prepared, Reject, Sandbox, Toolchain};
use cofferdam_store::{Store, StoreError};
use lru::LruCache;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use thiserror::Error;

/// The most bytes of machine code that are kept in memory together. Stops tenants with many large
/// modules from filling the worker.
const MAX_KEPT_BYTES: usize = 1 << 30;

/// How many components this process has compiled at once. Each takes up to half a gigabyte.
const COMPILERS: usize = 2;

/// How long a component that does not compile is not tried again: each try takes seconds.
const REFUSED_FOR: Duration = Duration::from_mins(1);

/// The most schemas that are kept compiled.
const MAX_SCHEMAS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1023);

/// Why a version cannot be had.
#[derive(Clone, Debug, Error)]
pub enum LoadError {
    /// The database holds no component of this digest.
    #[error("the component {} is not stored", .0.short())]
    Missing(Digest),
    /// What the database holds has another digest.
    #[error("the stored component {} has the digest {}", .expected.short(), .found.short())]
    Corrupt {
        /// What was asked for.
        expected: Digest,
        /// What the bytes have.
        found: Digest,
    },
    /// It no longer compiles or links: this host offers other imports than the one that took it.
    #[error("the component does not run on this host")]
    Rejected(#[source] Arc<Reject>),
    /// The database is away.
    #[error("the component could not be read")]
    Store(#[source] Arc<StoreError>),
    /// The compiler's process does not work: nothing is the component's fault.
    #[error("the component could not be compiled here")]
    Compiler(#[source] Arc<CompilerError>),
    /// The task that loaded it died.
    #[error("loading the component did not come to an end")]
    Interrupted,
}

impl From<CompilerError> for LoadError {
    fn from(error: CompilerError) -> Self {
        match error {
            CompilerError::Rejected(reject) => Self::Rejected(Arc::new(reject)),
            error => Self::Compiler(Arc::new(error)),
        }
    }
}

/// Why a payload was not found to be good.
#[derive(Debug, Error)]
pub(crate) enum CheckError {
    /// It does not match, or the schema cannot be used: a sentence for the error history.
    #[error("{0}")]
    Mismatch(String),
    /// The description of the kind could not be read.
    #[error("the description of the kind could not be read")]
    Store(#[source] StoreError),
}

type Schemas = LruCache<(VersionId, KindName), Option<Arc<Schema>>>;

/// The components and schemas that this process has at hand. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Modules(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Store,
    sandbox: Sandbox,
    toolchain: Toolchain,
    kept: Mutex<Kept>,
    loading: Shared<Result<Prepared, LoadError>>,
    making: Shared<Result<Artefact, LoadError>>,
    refused: Mutex<LruCache<Digest, (Instant, LoadError)>>,
    turns: Turns,
    schemas: Mutex<Schemas>,
}

/// Compiled components, the least recently used first to go.
#[derive(Debug)]
struct Kept {
    components: LruCache<Digest, (Prepared, usize)>,
    bytes: usize,
}

impl Kept {
    fn put(&mut self, digest: Digest, prepared: Prepared, bytes: usize) {
        self.bytes += bytes;
        if let Some((_, (_, gone))) = self.components.push(digest, (prepared, bytes)) {
            self.bytes -= gone;
        }
        while self.bytes > MAX_KEPT_BYTES && self.components.len() > 1 {
            let Some((_, (_, gone))) = self.components.pop_lru() else { return };
            self.bytes -= gone;
        }
    }
}

/// A panic while one of these locks is held leaves a cache that is still whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Modules {
    /// Keeps at most `capacity` (at least 1) compiled components.
    pub fn new(store: Store, sandbox: Sandbox, toolchain: Toolchain, capacity: usize) -> Self {
        let capacity = NonZeroUsize::new(capacity).unwrap_or(NonZeroUsize::MIN);
        Self(Arc::new(Inner {
            store,
            sandbox,
            toolchain,
            kept: Mutex::new(Kept { components: LruCache::new(capacity), bytes: 0 }),
            loading: Shared::default(),
            making: Shared::default(),
            refused: Mutex::new(LruCache::new(capacity)),
            turns: Turns::new(COMPILERS),
            schemas: Mutex::new(LruCache::new(MAX_SCHEMAS)),
        }))
    }

    /// Where components are compiled, and kept on disk.
    pub fn toolchain(&self) -> &Toolchain {
        &self.0.toolchain
    }

    /// The sandbox that the components are compiled for.
    pub fn sandbox(&self) -> &Sandbox {
        &self.0.sandbox
    }

    /// The compiled component, if it is in memory.
    pub(crate) fn at_hand(&self, digest: Digest) -> Option<Prepared> {
        lock(&self.0.kept).components.get(&digest).map(|(prepared, _)| prepared.clone())
    }

    /// The compiled component, from memory or else loaded now. Compiling is in the tenant's turn.
    pub(crate) async fn get(
        &self,
        tenant: TenantId,
        digest: Digest,
    ) -> Result<Prepared, LoadError> {
        if let Some(prepared) = self.at_hand(digest) {
            return Ok(prepared);
        }
        let modules = self.clone();
        let loading = async move {
            let artefact = modules.artefact(tenant, digest).await?;
            modules.load(digest, artefact).await
        };
        self.0.loading.run(digest, loading).await.unwrap_or(Err(LoadError::Interrupted))
    }

    /// The artefact of a stored component, for whoever loads it elsewhere.
    pub(crate) async fn artefact(
        &self,
        tenant: TenantId,
        digest: Digest,
    ) -> Result<Artefact, LoadError> {
        self.make(tenant, digest, None).await
    }

    /// Has a component compiled that may not be stored yet, and loads it.
    pub(crate) async fn prepare(
        &self,
        tenant: TenantId,
        component: Bytes,
    ) -> Result<Prepared, LoadError> {
        let digest = Digest::of(&component);
        let artefact = self.make(tenant, digest, Some(component)).await?;
        self.load(digest, artefact).await
    }

    /// The artefact from the cache, or else made now. Who asks for the same meanwhile waits for it.
    async fn make(
        &self,
        tenant: TenantId,
        digest: Digest,
        component: Option<Bytes>,
    ) -> Result<Artefact, LoadError> {
        if let Some((since, error)) = lock(&self.0.refused).get(&digest)
            && since.elapsed() < REFUSED_FOR
        {
            return Err(error.clone());
        }
        let modules = self.clone();
        let making = async move {
            let Inner { toolchain, turns, .. } = &*modules.0;
            if let Some(artefact) = toolchain.find(digest).await {
                return Ok(artefact);
            }
            let component = match component {
                Some(component) => component,
                None => modules.component(digest).await?,
            };
            let _turn = turns.take(tenant).await;
            Ok(toolchain.make(component).await?)
        };
        let made = self.0.making.run(digest, making).await;
        let made = made.unwrap_or(Err(LoadError::Interrupted));
        if let Err(error @ LoadError::Rejected(_)) = &made {
            lock(&self.0.refused).put(digest, (Instant::now(), error.clone()));
        }
        made
    }

    /// Loads an artefact on a thread that may block, and puts it at hand.
    async fn load(&self, digest: Digest, artefact: Artefact) -> Result<Prepared, LoadError> {
        let (sandbox, size) = (self.0.sandbox.clone(), artefact.size());
        let loaded = tokio::task::spawn_blocking(move || sandbox.load(&artefact)).await;
        let loaded = loaded.map_err(|_| LoadError::Interrupted)?;
        let prepared = loaded.map_err(|reject| LoadError::Rejected(Arc::new(reject)))?;
        lock(&self.0.kept).put(digest, prepared.clone(), size);
        Ok(prepared)
    }

    /// The component as it was uploaded.
    async fn component(&self, digest: Digest) -> Result<Bytes, LoadError> {
        let bytes = self
            .0
            .store
            .component_bytes(digest)
            .await
            .map_err(|error| LoadError::Store(Arc::new(error)))?
            .ok_or(LoadError::Missing(digest))?;
        let found = Digest::of(&bytes);
        if found != digest {
            return Err(LoadError::Corrupt { expected: digest, found });
        }
        Ok(bytes.into())
    }

    /// The compiled schema of a kind whose description is at hand, or `None` when it takes any
    /// payload. The error is a sentence about what is wrong with the schema.
    pub(crate) async fn schema(
        &self,
        version: VersionId,
        kind: &KindInfo,
    ) -> Result<Option<Arc<Schema>>, String> {
        let key = (version, kind.name.clone());
        if let Some(compiled) = lock(&self.0.schemas).get(&key) {
            return Ok(compiled.clone());
        }
        let compiled = match kind.input_schema.clone() {
            Some(schema) => {
                let compiled = checks::elsewhere(move || Schema::compile(&schema)).await;
                let compiled = compiled.map_err(|_| "compiling it did not come to an end")??;
                Some(Arc::new(compiled))
            }
            None => None,
        };
        lock(&self.0.schemas).put(key, compiled.clone());
        Ok(compiled)
    }

    /// Checks a payload against the schema of a kind, whose description is read when it is not
    /// at hand, and gives the payload back.
    pub(crate) async fn check_payload(
        &self,
        version: VersionId,
        kind: &KindName,
        payload: Vec<u8>,
    ) -> (Vec<u8>, Result<(), CheckError>) {
        match self.schema_by_name(version, kind).await {
            Ok(Some(schema)) => checks::payload(schema, payload).await,
            Ok(None) => (payload, Ok(())),
            Err(error) => (payload, Err(error)),
        }
    }

    async fn schema_by_name(
        &self,
        version: VersionId,
        kind: &KindName,
    ) -> Result<Option<Arc<Schema>>, CheckError> {
        if let Some(schema) = lock(&self.0.schemas).get(&(version, kind.clone())) {
            return Ok(schema.clone());
        }
        let described = self.0.store.kind_info(version, kind).await.map_err(CheckError::Store)?;
        match described {
            Some(kind) => self.schema(version, &kind).await.map_err(CheckError::Mismatch),
            None => Ok(None),
        }
    }
}
