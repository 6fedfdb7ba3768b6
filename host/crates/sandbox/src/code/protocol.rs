//! What the compiler's process and its parent say to each other, in frames.

use super::compile::Effort;
use super::fingerprint::Fingerprint;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Which protocol this is. Both ends are the same executable, unless somebody replaced the file
/// while the parent ran.
pub(super) const VERSION: &str = concat!("compile/1/", env!("CARGO_PKG_VERSION"));

/// The most machine code of one component, in bytes. Code is three to six times as large as what
/// it is made of, and more where every function is tiny.
pub(crate) const MAX_CODE: usize = 512 << 20;

/// From the parent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToCompiler {
    /// Say what you are.
    Greet(Bounds),
    /// Compile the body. Comes after the greeting.
    Compile { effort: Effort },
}

/// What the child must see to itself.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Bounds {
    /// Time of processors, of all its threads together.
    pub(super) cpu: Duration,
    /// Address space, in bytes.
    pub(super) memory: u64,
}

/// From the child.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FromCompiler {
    /// What its code will run on.
    Hello { version: String, fingerprint: Fingerprint },
    /// The body is the artefact.
    Compiled,
    /// The component cannot be compiled: the compiler's words.
    Refused { message: String },
}
