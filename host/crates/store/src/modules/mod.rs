//! Modules, their versions, and the bytes of those.

mod delete;
mod publish;
mod read;
mod resolve;

pub use publish::{NewVersion, Published};
pub use read::{ModuleDetail, ModuleSummary, VersionDetail};
pub use resolve::Resolved;
