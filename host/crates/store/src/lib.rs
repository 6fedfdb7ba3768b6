//! Cofferdam's database: every SQL statement of the platform and nothing else.
//!
//! A job's state is the table its small row lies in. Each function here carries out one transition
//! in one statement or one transaction, in batches, fenced by the lease; what becomes of a job is
//! decided in `cofferdam-core` and handed in.

pub mod cluster;
pub mod jobs;
pub mod leader;
pub mod logs;
pub mod migrate;
pub mod modules;
pub mod presence;
pub mod prune;
pub mod queues;
pub mod secrets;
pub mod settings;
pub mod sweeps;
pub mod workers;

mod bounded;
mod convert;
mod error;
mod listen;
mod notify;
mod partitions;
mod store;

pub use cluster::{Cluster, OrphanCount};
pub use error::StoreError;
pub use jobs::{
    Beat, Cancel, ClaimCursor, ClaimRequest, Claimed, DlqEntry, DlqFilter, DlqSummary, EnqueueJob,
    Enqueued, Finish, FinishEnd, Finished, Heartbeats, JobDetail, JobFilter, JobProgress,
    JobSummary, LostLease, Page, Progress, RanVersion, RescueKind, Rescued, Revive,
};
pub use leader::LeaderInfo;
pub use listen::Listener;
pub use logs::{LogChunk, LogPosition, LoggedLine};
pub use migrate::{Applied, MigrationStatus, SchemaError, migration_sql};
pub use modules::{ModuleDetail, ModuleSummary, NewVersion, Published, Resolved, VersionDetail};
pub use notify::Wake;
pub use presence::{Presence, Registration};
pub use prune::{Pruned, Retention};
pub use queues::QueueInfo;
pub use secrets::{SecretInfo, SecretPut};
pub use settings::{SchemaName, StoreSettings};
pub use store::Store;
pub use sweeps::{SweepReport, SweepStatus};
pub use workers::{WorkerInfo, WorkerRow};
