//! Compiled components and schemas in memory, by digest.

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
use thiserror::Error;
use tokio::sync::OnceCell;

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

type Loading = Arc<OnceCell<Prepared>>;
type Schemas = LruCache<(VersionId, KindName), Option<Arc<Schema>>>;

/// The components and schemas that this process has at hand. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Modules(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Store,
    sandbox: Sandbox,
    prepared: Mutex<LruCache<Digest, Prepared>>,
    /// One entry a component that is being loaded, so that a burst of jobs compiles it once.
    loading: Mutex<HashMap<Digest, Loading>>,
    /// `None` where the kind takes any payload.
    schemas: Mutex<Schemas>,
}

/// A panic while one of these locks is held leaves a cache that is still whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Modules {
    /// Keeps at most `capacity` (at least 1) compiled components, and as many schemas.
    pub fn new(store: Store, sandbox: Sandbox, capacity: usize) -> Self {
        let capacity = NonZeroUsize::new(capacity).unwrap_or(NonZeroUsize::MIN);
        Self(Arc::new(Inner {
            store,
            sandbox,
            prepared: Mutex::new(LruCache::new(capacity)),
            loading: Mutex::new(HashMap::new()),
            schemas: Mutex::new(LruCache::new(capacity)),
        }))
    }

    /// The sandbox that the components are compiled for.
    pub fn sandbox(&self) -> &Sandbox {
        &self.0.sandbox
    }

    /// Puts a compiled component at hand.
    pub(crate) fn keep(&self, digest: Digest, prepared: Prepared) {
        lock(&self.0.prepared).put(digest, prepared);
    }

    /// The compiled component, if it is in memory.
    pub(crate) fn at_hand(&self, digest: Digest) -> Option<Prepared> {
        lock(&self.0.prepared).get(&digest).cloned()
    }

    /// The compiled component, from memory or else read and compiled now.
    pub(crate) async fn get(&self, digest: Digest) -> Result<Prepared, LoadError> {
        if let Some(prepared) = self.at_hand(digest) {
            return Ok(prepared);
        }
        let cell = lock(&self.0.loading).entry(digest).or_default().clone();
        let loaded = cell.get_or_try_init(|| self.load(digest)).await.cloned();
        if let Ok(prepared) = &loaded {
            self.keep(digest, prepared.clone());
        }
        // Whoever waits on the same cell has it already; the next one starts afresh.
        lock(&self.0.loading).remove(&digest);
        loaded
    }

    async fn load(&self, digest: Digest) -> Result<Prepared, LoadError> {
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
        let sandbox = self.0.sandbox.clone();
        tokio::task::spawn_blocking(move || sandbox.compile(&bytes))
            .await
            .map_err(|_| LoadError::Interrupted)?
            .map_err(|reject| LoadError::Rejected(Arc::new(reject)))
    }

    /// The compiled schema of a kind whose description is at hand, or `None` when it takes any
    /// payload. The error is a sentence about what is wrong with the schema.
    pub(crate) fn schema(
        &self,
        version: VersionId,
        kind: &KindInfo,
    ) -> Result<Option<Arc<Schema>>, String> {
        let key = (version, kind.name.clone());
        if let Some(compiled) = lock(&self.0.schemas).get(&key) {
            return Ok(compiled.clone());
        }
        let compiled = match &kind.input_schema {
            Some(schema) => Some(Arc::new(Schema::compile(schema)?)),
            None => None,
        };
        lock(&self.0.schemas).put(key, compiled.clone());
        Ok(compiled)
    }

    /// Checks a payload against the schema of a kind, whose description is read when it is not
    /// at hand.
    pub(crate) async fn check_payload(
        &self,
        version: VersionId,
        kind: &KindName,
        payload: &[u8],
    ) -> Result<(), CheckError> {
        let cached = lock(&self.0.schemas).get(&(version, kind.clone())).cloned();
        let schema = if let Some(schema) = cached {
            schema
        } else {
            let described =
                self.0.store.kind_info(version, kind).await.map_err(CheckError::Store)?;
            match described {
                Some(kind) => self.schema(version, &kind).map_err(CheckError::Mismatch)?,
                None => None,
            }
        };
        match schema {
            Some(schema) => {
                schema.check(payload).map_err(|error| CheckError::Mismatch(error.to_string()))
            }
            None => Ok(()),
        }
    }
}

/// Why a payload was not found to be good.
#[derive(Debug, Error)]
pub(crate) enum CheckError {
    /// It does not match, or the schema cannot be used: a sentence for the error history.
    #[error("{0}")]
    Mismatch(String),
    /// The database is away.
    #[error("the description of the kind could not be read")]
    Store(#[source] StoreError),
}
