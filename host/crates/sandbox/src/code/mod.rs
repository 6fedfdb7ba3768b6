//! Machine code: made in a process apart, signed, kept on disk, loaded.
//!
//! ```text
//! component --> toolchain: in the cache? --yes--> artefact --> load --> Prepared
//!                               |                    ^
//!                               no                   | signed, written
//!                               v                    |
//!                           compiler == pipes ==> child: compile
//! ```
//!
//! Whoever loads an artefact runs whatever it contains, so `load` is the only place in the tree
//! that does, and takes nothing but an [`Artefact`]: what this process made itself, what its child
//! made under its eyes, or what a file holds that the installation's key has signed.

mod artefact;
mod cache;
mod child;
mod compile;
mod compiler;
mod fingerprint;
mod load;
mod protocol;
mod toolchain;

pub use artefact::Artefact;
pub use cache::{ArtefactCache, CacheError, CacheStatus};
pub use child::{CompilerServeError, serve_compiler};
pub use compiler::{Compiler, CompilerBounds, CompilerError};
pub use load::Prepared;
pub use toolchain::{Toolchain, ToolchainError};

pub(crate) use compile::Effort;
pub(crate) use fingerprint::Fingerprint;
pub(crate) use load::{Entry, load};
pub(crate) use protocol::MAX_CODE;
