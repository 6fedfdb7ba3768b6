//! From a component to an artefact: the work itself, which reads hostile bytes with a compiler.

use super::artefact::Artefact;
use super::fingerprint::Fingerprint;
use crate::engine;
use crate::reject::Reject;
use crate::survey::Survey;
use crate::symbols::Symbols;
use cofferdam_core::module::Digest;
use serde::{Deserialize, Serialize};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How much is made of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Effort {
    /// The fastest code.
    Full,
    /// Code that is compiled in a fraction of the time, and runs at a half or a third of the speed:
    /// for components on which the compiler would spend more than it may.
    Quick,
}

/// Compiles a component, which takes seconds of CPU time, and up to minutes and gigabytes where the
/// component wants it so: this belongs into a process that is bounded from outside.
pub(crate) fn compile(bytes: &[u8], effort: Effort) -> Result<Artefact, Reject> {
    // The bytes may come from anywhere: what bounds the compiler is checked here again.
    let world = Survey::of_component(bytes)?.world()?;
    let engine = engine::compiling(effort).map_err(|error| Reject::Compile(error.into()))?;
    // An engine of full effort is the one that artefacts are loaded by: the effort is no part of
    // what the two must agree upon, and would be one of the digest.
    let fingerprint = match effort {
        Effort::Full => Fingerprint::of(&engine),
        Effort::Quick => {
            let full = engine::compiling(Effort::Full);
            Fingerprint::of(&full.map_err(|error| Reject::Compile(error.into()))?)
        }
    };
    let compiled = AssertUnwindSafe(|| engine.precompile_component(bytes));
    let code = catch_unwind(compiled)
        .map_err(|_| Reject::Compile("the compiler panicked".into()))?
        .map_err(|error| Reject::Compile(error.into()))?;
    let symbols = Symbols::of(bytes);
    Ok(Artefact::new(fingerprint, Digest::of(bytes), world, code.into(), symbols))
}
