//! Compiled components and schemas in memory, by digest.

use crate::checks;
use crate::schema::Schema;
use cofferdam_core::ids::VersionId;
use cofferdam_core::module::{Digest, KindInfo};
use cofferdam_core::name::KindName;
use cofferdam_sandbox::{Prepared, Reject, Sandbox};
use cofferdam_store::{Store, StoreError};
use lru::LruCache;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use thiserror::Error;
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::JoinError;

/// The most bytes of components (as uploaded) whose machine code is kept in memory together. The
/// code is a few times as large: stops tenants with many large modules from filling the worker.
const MAX_KEPT_BYTES: usize = 256 << 20;

/// How many components are compiled at once. Each takes up to half a gigabyte meanwhile.
const COMPILERS: usize = 2;

/// How long a component that does not compile is not tried again: each try takes seconds.
const REFUSED_FOR: Duration = Duration::from_mins(1);

/// The most schemas that are kept compiled.
const MAX_SCHEMAS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1023);

/// Why a version cannot be had.
#[derive(Clone, Debug, Error)]
pub(crate) enum LoadError {
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
    /// The compiling task died.
    #[error("the compiler stopped without an answer")]
    Interrupted,
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

/// One entry a component that is being loaded, so that a burst of jobs compiles it once. It holds
/// failures, too: whoever waited need not fail by its own work.
type Loading = Arc<OnceCell<Result<Prepared, LoadError>>>;
type Schemas = LruCache<(VersionId, KindName), Option<Arc<Schema>>>;

/// The components and schemas that this process has at hand. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Modules(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Store,
    sandbox: Sandbox,
    kept: Mutex<Kept>,
    loading: Mutex<HashMap<Digest, Loading>>,
    refused: Mutex<LruCache<Digest, (Instant, LoadError)>>,
    compilers: Arc<Semaphore>,
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
    pub fn new(store: Store, sandbox: Sandbox, capacity: usize) -> Self {
        let capacity = NonZeroUsize::new(capacity).unwrap_or(NonZeroUsize::MIN);
        Self(Arc::new(Inner {
            store,
            sandbox,
            kept: Mutex::new(Kept { components: LruCache::new(capacity), bytes: 0 }),
            loading: Mutex::new(HashMap::new()),
            refused: Mutex::new(LruCache::new(capacity)),
            compilers: Arc::new(Semaphore::new(COMPILERS)),
            schemas: Mutex::new(LruCache::new(MAX_SCHEMAS)),
        }))
    }

    /// The sandbox that the components are compiled for.
    pub fn sandbox(&self) -> &Sandbox {
        &self.0.sandbox
    }

    /// Puts a compiled component at hand. `bytes` is the size of the component.
    pub(crate) fn keep(&self, digest: Digest, prepared: Prepared, bytes: usize) {
        lock(&self.0.kept).put(digest, prepared, bytes);
    }

    /// The compiled component, if it is in memory.
    pub(crate) fn at_hand(&self, digest: Digest) -> Option<Prepared> {
        lock(&self.0.kept).components.get(&digest).map(|(prepared, _)| prepared.clone())
    }

    /// Compiles a component on a thread that may block, and gives it back.
    pub(crate) async fn compile(
        &self,
        component: Vec<u8>,
    ) -> Result<(Vec<u8>, Result<Prepared, Reject>), JoinError> {
        // The semaphore is never closed. The place goes with the work: whoever asked for it may not
        // wait for its end.
        let place = self.0.compilers.clone().acquire_owned().await;
        let sandbox = self.0.sandbox.clone();
        tokio::task::spawn_blocking(move || {
            let _place = place;
            let compiled = sandbox.compile(&component);
            (component, compiled)
        })
        .await
    }

    /// The compiled component, from memory or else read and compiled now.
    pub(crate) async fn get(&self, digest: Digest) -> Result<Prepared, LoadError> {
        if let Some(prepared) = self.at_hand(digest) {
            return Ok(prepared);
        }
        if let Some((since, error)) = lock(&self.0.refused).get(&digest)
            && since.elapsed() < REFUSED_FOR
        {
            return Err(error.clone());
        }
        let cell = lock(&self.0.loading).entry(digest).or_default().clone();
        // In a task of its own: an attempt that ends meanwhile must not make the others, who wait
        // for the same, begin anew.
        let (modules, theirs) = (self.clone(), cell.clone());
        let loading =
            tokio::spawn(async move { theirs.get_or_init(|| modules.load(digest)).await.clone() });
        let loaded = loading.await.unwrap_or(Err(LoadError::Interrupted));
        if let Err(error @ LoadError::Rejected(_)) = &loaded {
            lock(&self.0.refused).put(digest, (Instant::now(), error.clone()));
        }
        // Whoever waits on the same cell has it already. A cell that came after it is left alone.
        let mut loading = lock(&self.0.loading);
        if loading.get(&digest).is_some_and(|current| Arc::ptr_eq(current, &cell)) {
            loading.remove(&digest);
        }
        loaded
    }

    /// The component as it was uploaded.
    pub(crate) async fn component(&self, digest: Digest) -> Result<Vec<u8>, LoadError> {
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
        Ok(bytes)
    }

    async fn load(&self, digest: Digest) -> Result<Prepared, LoadError> {
        let bytes = self.component(digest).await?;
        let size = bytes.len();
        let (_, compiled) = self.compile(bytes).await.map_err(|_| LoadError::Interrupted)?;
        let prepared = compiled.map_err(|reject| LoadError::Rejected(Arc::new(reject)))?;
        self.keep(digest, prepared.clone(), size);
        Ok(prepared)
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
