//! The bodies of requests and responses, one file a resource.
//!
//! They are the API's own, apart from the words of `core` (names, ids, states): a change to a
//! table or to a record inside the platform is not a change to what clients see. Clients written
//! in Rust, such as the command line, use these types as they are.
//!
//! Durations are text such as `1h30m`, sizes that people choose are text such as `64MiB`, sizes
//! that were measured are numbers of bytes, and times are RFC 3339 in UTC. Requests refuse
//! fields that they do not know; responses may grow some.

mod callbacks;
mod cluster;
mod dlq;
mod info;
mod jobs;
mod limits;
mod logs;
mod modules;
mod page;
mod problem;
mod queues;
mod schema;
mod secrets;
mod submit;
mod workers;

pub use callbacks::CallbackAnswer;
pub use cluster::{ClusterView, LeaderView, OrphanView, SweepView};
pub use dlq::{DlqDetail, DlqQuery, DlqView, PurgeBody, Purged, Retried, RetryAllBody};
pub use info::Info;
pub use jobs::{
    CancelAnswer, ErrorView, JobQuery, JobSummary, JobView, ProgressView, RetryAnswer, RetryBody,
    RetryVersion, UsageView, WaitQuery,
};
pub use limits::LimitsView;
pub use logs::{LogPage, LogQuery, LogView};
pub use modules::{
    KindView, ModuleDetail, ModuleVersion, ModuleView, PublishForm, PublishQuery, VersionDetail,
    VersionView,
};
pub use page::{DEFAULT_LIMIT, MAX_LIMIT, Page, PageQuery};
pub use problem::ProblemBody;
pub use queues::QueueView;
pub use secrets::SecretView;
pub use submit::{NewJobBody, SubmitBody, Submitted, SubmittedJob};
pub use workers::{EvictAnswer, WorkerView};
