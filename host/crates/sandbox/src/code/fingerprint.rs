//! What two processes must agree upon before one of them runs what the other has compiled.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::hash::{Hash as _, Hasher};
use wasmtime::Engine;

/// Counted up whenever an artefact of an older executable must not be loaded although the engine
/// would take it.
const GENERATION: u32 = 1;

/// A digest of everything about an engine that machine code depends upon: its version, its
/// settings, the processor's features.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fingerprint(String);

impl Fingerprint {
    pub(crate) fn of(engine: &Engine) -> Self {
        let mut digesting = Digesting(Sha256::new());
        GENERATION.hash(&mut digesting);
        engine.precompile_compatibility_hash().hash(&mut digesting);
        Self(hex::encode(digesting.0.finalize()))
    }

    /// Enough of it to tell files apart by their names.
    pub(crate) fn short(&self) -> String {
        self.0.chars().take(16).collect()
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short())
    }
}

/// Takes the place of the standard hasher, whose 64 bits are too few to trust in.
struct Digesting(Sha256);

impl Hasher for Digesting {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        // Nobody asks: the digest itself is taken.
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Effort;
    use crate::engine;
    use crate::settings::{Pooling, SandboxSettings};

    #[test]
    fn a_compiler_and_a_pool_have_the_same_fingerprint() {
        // Given the engine that runs guests and the one that compiles for it
        let settings = SandboxSettings { pooling: Pooling::Off, ..SandboxSettings::default() };
        let running = engine::build(&settings).unwrap().engine;
        let compiling = engine::compiling(Effort::Full).unwrap();
        // then they agree,
        assert_eq!(Fingerprint::of(&running), Fingerprint::of(&compiling));
        // and an engine that counts no fuel is another one.
        let mut other = wasmtime::Config::new();
        other.consume_fuel(false);
        let other = Engine::new(&other).unwrap();
        assert_ne!(Fingerprint::of(&running), Fingerprint::of(&other));
    }
}
