//! What the caller says about one attempt, and what the attempt may ask of the caller.

use async_trait::async_trait;
use bytes::Bytes;
use cofferdam_core::egress::{FetchError, FetchFault};
use cofferdam_core::limits::Limits;
use cofferdam_core::log::LogLine;
use cofferdam_core::secret::{SecretName, SecretValue};
use cofferdam_core::wait::Resumption;
use http_body_util::combinators::UnsyncBoxBody;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a handler is told about its attempt: `job-info` of the guest contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobInfo {
    /// The job's id in text form.
    pub id: String,
    /// The kind to run.
    pub kind: String,
    /// The queue it came from.
    pub queue: String,
    /// The tenant that owns it.
    pub tenant: String,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// How many there may be.
    pub max_attempts: u32,
    /// 1 (highest) to 4.
    pub priority: u8,
    /// When the job was accepted, in milliseconds since 1970-01-01 UTC.
    pub created_at: u64,
    /// How long this attempt may run, in milliseconds from its start.
    pub deadline_ms: u64,
    /// The same in every attempt.
    pub idempotency_key: String,
    /// The workflow that the job belongs to.
    pub workflow: Option<String>,
    /// What the submitter attached.
    pub metadata: Vec<(String, String)>,
}

/// One attempt to run.
pub struct Attempt {
    /// What the handler is told.
    pub info: JobInfo,
    /// The payload: the handler's input, or a command's standard input.
    pub input: Vec<u8>,
    /// A command's arguments, without the program's name. Handlers do not see them.
    pub args: Vec<String>,
    /// The whole environment: nothing of the host's own is added.
    pub env: Vec<(String, String)>,
    /// What the attempt may use. `limits.deadline` is only information here: `deadline` counts.
    pub limits: Limits,
    /// When the attempt is ended, whatever it does: in guest code, in a host call, or while it
    /// still waits for its first turn.
    pub deadline: Instant,
    /// When the attempt is ended because its lease may be somebody else's by then. Its own thread
    /// does it, so it needs nobody who is still alive; [`Reins::renew_lease`](crate::Reins)
    /// moves it. `None` where there is no lease.
    pub lease_until: Option<Instant>,
    /// What the last checkpoint of an earlier attempt kept.
    pub last_checkpoint: Option<Vec<u8>>,
    /// How the job's last wait ended.
    pub resumed: Option<Resumption>,
    /// Where logs, progress and checkpoints go.
    pub host: Arc<dyn AttemptHost>,
}

/// The other side of an attempt's host calls.
///
/// All methods are called on the guest's thread, with a tokio runtime entered. The asynchronous
/// ones are dropped when the attempt is killed, at any await. None is called for an attempt whose
/// lease is over.
#[async_trait]
pub trait AttemptHost: Send + Sync {
    /// A line of log, within the attempt's log budget. Must not block.
    fn log(&self, line: LogLine);

    /// The handler says how far it is, at most 100 percent. Must not block; guests may call it
    /// as often as they like, and only the last word counts.
    fn progress(&self, percent: u8, note: String);

    /// Keeps bytes, at most [`MAX_CHECKPOINT`](cofferdam_core::limits::MAX_CHECKPOINT) of them,
    /// for the next attempt. The error is told to the guest.
    async fn checkpoint(&self, bytes: Vec<u8>) -> Result<(), String>;

    /// Moves the deadline. Answers with the time that remains now; the sandbox moves its own
    /// deadline to match. The error is told to the guest.
    async fn extend_deadline(&self, by: Duration) -> Result<Duration, String>;

    /// The value of one of the tenant's secrets that the module was granted. The error is told to
    /// the guest.
    async fn secret(&self, _name: &SecretName) -> Result<SecretValue, String> {
        Err("there are no secrets here".to_owned())
    }

    /// A text that stands for the secret in the headers of requests, where [`AttemptHost::fetch`]
    /// puts the value in its place. The error is told to the guest.
    async fn placeholder(&self, _name: &SecretName) -> Result<String, String> {
        Err("there are no secrets here".to_owned())
    }

    /// Sends a request, if whoever runs the attempt allows it, and answers as soon as the head of
    /// the answer is there.
    async fn fetch(&self, _call: Call) -> Result<Answer, FetchError> {
        Err(FetchError::new(FetchFault::Denied, "requests are not allowed here"))
    }
}

/// One request of a guest.
pub struct Call {
    /// Its place among the attempt's requests, from 1: the same in every attempt of a handler
    /// that does the same.
    pub number: u64,
    /// What to send. The URI has a scheme and an authority.
    pub request: http::Request<Bytes>,
    /// How long all of it may take, to the last byte of the answer.
    pub time: Duration,
    /// The most bytes of the answer's headers, and of its body.
    pub max_answer: (u64, u64),
}

/// What comes back. Reading the body fails with a [`FetchError`] where it takes too long or
/// becomes too large.
pub type Answer = http::Response<UnsyncBoxBody<Bytes, FetchError>>;
