//! Runs handlers in `cargo test`, natively, with a host that only writes down what it is asked.
//!
//! ```
//! use cofferdam_guest::{Context, Error, handler, testing};
//!
//! #[derive(serde::Deserialize)]
//! struct Greeting {
//!     name: String,
//! }
//!
//! /// Greets.
//! #[handler(deadline = "1s")]
//! fn greet(ctx: &Context, input: Greeting) -> Result<String, Error> {
//!     ctx.progress(50, "thinking");
//!     Ok(format!("Hello, {}, from attempt {}!", input.name, ctx.attempt()))
//! }
//!
//! // The function, with values of its own types:
//! let run = testing::Job::new().attempt(2).run(greet, Greeting { name: "Ada".into() });
//! assert_eq!(run.result.unwrap(), "Hello, Ada, from attempt 2!");
//! assert_eq!(run.progress, [(50, "thinking".to_owned())]);
//!
//! // Or the kind, by its name, with bytes in and out, as the host does it:
//! let run = testing::Job::new().dispatch("greet", r#"{"nom":"Ada"}"#);
//! assert_eq!(run.result.unwrap_err().code(), "bad-input");
//! ```

mod handler;
mod recorder;

use crate::context::{Context, Info};
use crate::error::Error;
use crate::host::Resumption;
use crate::registry;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

pub use handler::Handler;
pub(crate) use recorder::Recorder;
pub use recorder::{LogLine, Run};

/// Runs a handler as the first attempt of a job about which nothing is special.
pub fn run<I, S, H: Handler<I, S>>(handler: H, input: I) -> Run<H::Output> {
    Job::new().run(handler, input)
}

/// What stands for a secret in a test. A host makes one that cannot be guessed.
pub fn placeholder(name: &str) -> String {
    format!("placeholder-of-{name}")
}

/// What the component would answer when the host asks what it handles, by name.
///
/// A test in a file of its own sees the kinds of the crates that it uses something of.
pub fn kinds() -> Vec<KindInfo> {
    let info = |kind: &registry::Kind| KindInfo {
        name: kind.name.to_owned(),
        description: kind.description.to_owned(),
        input_schema: kind.input_schema.map(str::to_owned),
        deadline: kind.deadline_ms.map(Duration::from_millis),
        memory_bytes: kind.memory_bytes,
        fuel: kind.fuel,
        max_attempts: kind.max_attempts,
    };
    registry::kinds().into_iter().map(info).collect()
}

/// What the component says of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindInfo {
    /// The name that jobs ask for.
    pub name: String,
    /// The doc comment of the handler.
    pub description: String,
    /// The JSON Schema of the input.
    pub input_schema: Option<String>,
    /// The default deadline.
    pub deadline: Option<Duration>,
    /// The default for linear memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// The default fuel budget.
    pub fuel: Option<u64>,
    /// The default number of attempts.
    pub max_attempts: Option<u32>,
}

/// One attempt of a job that a test makes up. No clock runs in it: [`Context::remaining`] is the
/// deadline and what was added to it, for as long as the handler runs.
#[derive(Clone, Debug)]
pub struct Job {
    info: Info,
    last_checkpoint: Option<Vec<u8>>,
    checkpoint_refusal: Option<String>,
    deadline_cap: Duration,
    cancelled: bool,
    resumed: Option<Resumption>,
    secrets: BTreeMap<String, String>,
}

impl Default for Job {
    fn default() -> Self {
        Self::new()
    }
}

impl Job {
    /// The first of four attempts, of kind `test` in queue `default` of tenant `default`, with
    /// priority 2, five minutes of time and at most an hour of it.
    pub fn new() -> Self {
        let id = "0199c1a5-8c3e-7000-8000-000000000001";
        Self {
            info: Info {
                id: id.to_owned(),
                kind: "test".to_owned(),
                queue: "default".to_owned(),
                tenant: "default".to_owned(),
                attempt: 1,
                max_attempts: 4,
                priority: 2,
                created_at: SystemTime::UNIX_EPOCH + Duration::from_secs(1_760_000_000),
                deadline: Duration::from_mins(5),
                idempotency_key: id.to_owned(),
                workflow: None,
                metadata: Vec::new(),
            },
            last_checkpoint: None,
            checkpoint_refusal: None,
            deadline_cap: Duration::from_hours(1),
            cancelled: false,
            resumed: None,
            secrets: BTreeMap::new(),
        }
    }

    /// Which attempt this is, from 1.
    #[must_use]
    pub fn attempt(mut self, attempt: u32) -> Self {
        self.info.attempt = attempt;
        self
    }

    /// How many attempts the job has in all.
    #[must_use]
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.info.max_attempts = attempts;
        self
    }

    /// The job's id and idempotency key.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.info.id = id.into();
        self.info.idempotency_key.clone_from(&self.info.id);
        self
    }

    /// The queue.
    #[must_use]
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.info.queue = queue.into();
        self
    }

    /// The tenant.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.info.tenant = tenant.into();
        self
    }

    /// The priority, 1 (highest) to 4.
    #[must_use]
    pub fn priority(mut self, priority: u8) -> Self {
        self.info.priority = priority;
        self
    }

    /// When the job was accepted.
    #[must_use]
    pub fn created_at(mut self, time: SystemTime) -> Self {
        self.info.created_at = time;
        self
    }

    /// The workflow that the job belongs to.
    #[must_use]
    pub fn workflow(mut self, workflow: impl Into<String>) -> Self {
        self.info.workflow = Some(workflow.into());
        self
    }

    /// Attaches a pair of metadata.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.info.metadata.push((key.into(), value.into()));
        self
    }

    /// How long the attempt may run.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.info.deadline = deadline;
        self
    }

    /// How far [`Context::extend_deadline`] can move the deadline from the start.
    #[must_use]
    pub fn deadline_cap(mut self, cap: Duration) -> Self {
        self.deadline_cap = cap;
        self
    }

    /// What an earlier attempt kept.
    #[must_use]
    pub fn last_checkpoint(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.last_checkpoint = Some(bytes.into());
        self
    }

    /// Makes every checkpoint fail, as for an attempt that has lost its lease.
    #[must_use]
    pub fn refuse_checkpoints(mut self, reason: impl Into<String>) -> Self {
        self.checkpoint_refusal = Some(reason.into());
        self
    }

    /// Someone asked for the job to be cancelled.
    #[must_use]
    pub fn cancelled(mut self) -> Self {
        self.cancelled = true;
        self
    }

    /// The job has waited, and this is how its wait ended.
    #[must_use]
    pub fn resumed(mut self, resumption: Resumption) -> Self {
        self.resumed = Some(resumption);
        self
    }

    /// The tenant has this secret, and the manifest names it. Its placeholder is
    /// [`placeholder`]`(name)`.
    #[must_use]
    pub fn with_secret(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.secrets.insert(name.into(), value.into());
        self
    }

    /// Runs a handler function with an input of its own type: `()` for one that takes none.
    pub fn run<I, S, H: Handler<I, S>>(self, handler: H, input: I) -> Run<H::Output> {
        self.record(|context| handler.call(context, input))
    }

    /// Runs a kind by its name, with bytes in and out: as the host does it, decoding included.
    pub fn dispatch(mut self, kind: impl Into<String>, input: impl Into<Vec<u8>>) -> Run<Vec<u8>> {
        self.info.kind = kind.into();
        self.record(|context| registry::dispatch(context, input.into()))
    }

    fn record<T>(self, call: impl FnOnce(&Context) -> Result<T, Error>) -> Run<T> {
        let recorder = Rc::new(Recorder::new(&self));
        let context = Context::new(self.info, Rc::clone(&recorder));
        let result = call(&context);
        recorder.finish(result)
    }
}
