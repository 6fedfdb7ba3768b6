//! Compiled components, kept for all test programs and all runs: compiling them is most of the work
//! that tests of the platform are.

use crate::components;
use bytes::Bytes;
use cofferdam_core::module::Digest;
use cofferdam_sandbox::{Artefact, ArtefactCache, Compiler, Sandbox, Toolchain};
use std::path::PathBuf;

/// The most that is kept, in bytes.
const MAX_KEPT: u64 = 1 << 30;

/// Where they are kept: beside what cargo builds, so that `cargo clean` removes them.
pub fn folder() -> PathBuf {
    components::target_folder().join("test-artefacts")
}

/// Compiles in this process, and keeps what it compiles for later tests.
pub async fn toolchain(sandbox: &Sandbox) -> Toolchain {
    let cache = ArtefactCache::open(folder(), None, MAX_KEPT).expect("the folder can be used");
    let toolchain = Toolchain::start(sandbox, Compiler::here(), Some(cache)).await;
    toolchain.expect("what is compiled here runs here")
}

/// The artefact of a component that is good.
pub async fn artefact(sandbox: &Sandbox, component: Vec<u8>) -> Artefact {
    let toolchain = toolchain(sandbox).await;
    if let Some(artefact) = toolchain.find(Digest::of(&component)).await {
        return artefact;
    }
    toolchain.make(Bytes::from(component)).await.expect("the component compiles")
}
