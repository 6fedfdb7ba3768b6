//! The compiler and the cache together: whoever needs machine code asks here.

use super::artefact::Artefact;
use super::cache::ArtefactCache;
use super::compiler::{Compiler, CompilerError};
use super::fingerprint::Fingerprint;
use crate::sandbox::Sandbox;
use bytes::Bytes;
use cofferdam_core::hint::Hint;
use cofferdam_core::module::Digest;
use thiserror::Error;

/// Finds artefacts, or has them made. Copies are the same.
#[derive(Clone, Debug)]
pub struct Toolchain {
    compiler: Compiler,
    cache: Option<ArtefactCache>,
    fingerprint: Fingerprint,
}

/// Why there is no toolchain.
#[derive(Debug, Error)]
pub enum ToolchainError {
    /// The compiler's process does not work.
    #[error("components cannot be compiled")]
    Compiler(#[source] CompilerError),
    /// Its code would not run here.
    #[error("the compiler makes code for another engine than the one that is to run it")]
    Disagree,
}

impl Hint for ToolchainError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Compiler(error) => error.hint(),
            Self::Disagree => Some(
                "the executable was replaced while this ran: start it again from the new one"
                    .to_owned(),
            ),
        }
    }
}

impl Toolchain {
    /// Starts a compiler once, and makes sure that its code can run in this sandbox.
    pub async fn start(
        sandbox: &Sandbox,
        compiler: Compiler,
        cache: Option<ArtefactCache>,
    ) -> Result<Self, ToolchainError> {
        let theirs = compiler.fingerprint().await.map_err(ToolchainError::Compiler)?;
        if theirs != *sandbox.fingerprint() {
            return Err(ToolchainError::Disagree);
        }
        Ok(Self { compiler, cache, fingerprint: theirs })
    }

    /// The compiler.
    pub fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    /// The cache, where there is one.
    pub fn cache(&self) -> Option<&ArtefactCache> {
        self.cache.as_ref()
    }

    /// The artefact of a component, if it is in the cache.
    pub async fn find(&self, component: Digest) -> Option<Artefact> {
        let (cache, fingerprint) = (self.cache.clone()?, self.fingerprint.clone());
        let found = tokio::task::spawn_blocking(move || cache.get(component, &fingerprint));
        // A look-up that panicked has found nothing.
        found.await.ok().flatten()
    }

    /// Has a component compiled, which takes seconds, and keeps the artefact. May be dropped: the
    /// compiler ends with it.
    pub async fn make(&self, component: Bytes) -> Result<Artefact, CompilerError> {
        let artefact = self.compiler.compile(component).await?;
        if *artefact.fingerprint() != self.fingerprint {
            let why = "it is of another version by now".to_owned();
            return Err(CompilerError::Process(why));
        }
        if let Some(cache) = self.cache.clone() {
            let theirs = artefact.clone();
            let kept = tokio::task::spawn_blocking(move || cache.put(&theirs)).await;
            match kept {
                Ok(Ok(())) => {}
                // It is compiled again next time.
                Ok(Err(error)) => tracing::warn!(%error, "a compiled component was not kept"),
                Err(error) => tracing::warn!(%error, "a compiled component was not kept"),
            }
        }
        Ok(artefact)
    }
}
