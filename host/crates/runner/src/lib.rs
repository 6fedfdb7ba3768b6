//! The pipeline: publish, enqueue, claim, execute, finish, and what mends it when it breaks.
//!
//! The files are in the order in which data flows through them. Nothing here contains SQL,
//! wasmtime types or HTTP types.

mod alone;
mod checks;
mod claim;
mod enqueue;
mod error;
mod execute;
mod finish;
mod heartbeat;
mod host;
mod inflight;
mod logs;
mod maintain;
mod modules;
mod moment;
mod presence;
mod publish;
mod schema;
mod schema_size;
mod secrets;
mod settings;
mod settings_check;
mod share;
mod stage;
mod stop;
mod turns;
mod watchdog;
mod worker;

pub use enqueue::{SubmitError, Submitter};
pub use error::ErrorKind;
pub use maintain::evict;
pub use modules::{LoadError, Modules};
pub use publish::{PublishError, PublishRequest, PublishedModule, Publisher};
pub use schema::{PayloadError, check_payload};
pub use secrets::{OpenedSecrets, Secrets, SecretsError};
pub use settings::{MAX_SLOTS, WorkerSettings};
pub use settings_check::SettingsError;
pub use stop::StopReason;
pub use worker::{StartError, Worker, WorkerStatus};
