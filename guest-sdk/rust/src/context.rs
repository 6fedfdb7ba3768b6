//! The attempt, as its handler sees it.

use crate::codec;
use crate::error::Error;
use crate::host::{Asked, Host as _, Level, Resumption};
use serde::{Serialize, de::DeserializeOwned};
use std::fmt::{self, Display};
use std::time::{Duration, SystemTime};

/// What is known about the attempt when it starts.
#[derive(Clone, Debug)]
pub(crate) struct Info {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) queue: String,
    pub(crate) tenant: String,
    pub(crate) attempt: u32,
    pub(crate) max_attempts: u32,
    pub(crate) priority: u8,
    pub(crate) created_at: SystemTime,
    pub(crate) deadline: Duration,
    pub(crate) idempotency_key: String,
    pub(crate) workflow: Option<String>,
    pub(crate) metadata: Vec<(String, String)>,
}

/// The attempt that a handler runs: what it is about, and what it may ask of the host.
pub struct Context {
    info: Info,
    host: Asked,
}

impl Context {
    pub(crate) fn new(info: Info, host: Asked) -> Self {
        Self { info, host }
    }

    /// The job's id, a UUID in text form. The same in every attempt.
    pub fn id(&self) -> &str {
        &self.info.id
    }

    /// The kind that was asked for.
    pub fn kind(&self) -> &str {
        &self.info.kind
    }

    /// The queue that the job came from.
    pub fn queue(&self) -> &str {
        &self.info.queue
    }

    /// The tenant that owns the job.
    pub fn tenant(&self) -> &str {
        &self.info.tenant
    }

    /// Which attempt this is: 1 for the first.
    pub fn attempt(&self) -> u32 {
        self.info.attempt
    }

    /// How many attempts the job has in all.
    pub fn max_attempts(&self) -> u32 {
        self.info.max_attempts
    }

    /// Whether a retryable error of this attempt ends the job.
    pub fn is_last_attempt(&self) -> bool {
        self.info.attempt >= self.info.max_attempts
    }

    /// 1 (highest) to 4.
    pub fn priority(&self) -> u8 {
        self.info.priority
    }

    /// When the job was accepted.
    pub fn created_at(&self) -> SystemTime {
        self.info.created_at
    }

    /// How long this attempt may run from its start, extensions not included.
    pub fn deadline(&self) -> Duration {
        self.info.deadline
    }

    /// The same in every attempt: send it to other services so that they see the work once.
    pub fn idempotency_key(&self) -> &str {
        &self.info.idempotency_key
    }

    /// The workflow that the job belongs to.
    pub fn workflow(&self) -> Option<&str> {
        self.info.workflow.as_deref()
    }

    /// What the submitter attached under `key`.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        let pair = self.info.metadata.iter().find(|(name, _)| name == key);
        pair.map(|(_, value)| value.as_str())
    }

    /// Everything that the submitter attached.
    pub fn all_metadata(&self) -> &[(String, String)] {
        &self.info.metadata
    }

    /// Adds a line to the job's log, with pairs that programs can search for.
    ///
    /// Lines past the attempt's log budget are dropped and counted; far past it the attempt is
    /// killed.
    ///
    /// ```
    /// # fn example(ctx: &cofferdam_guest::Context) {
    /// use cofferdam_guest::Level;
    ///
    /// ctx.log(Level::Info, "resized", &[("width", &128), ("format", &"png")]);
    /// # }
    /// ```
    pub fn log(&self, level: Level, message: impl AsRef<str>, fields: &[(&str, &dyn Display)]) {
        let fields: Vec<(String, String)> =
            fields.iter().map(|(key, value)| ((*key).to_owned(), value.to_string())).collect();
        self.host.log(level, message.as_ref(), &fields);
    }

    /// [`Context::log`] at trace level, without pairs.
    pub fn trace(&self, message: impl AsRef<str>) {
        self.log(Level::Trace, message, &[]);
    }

    /// [`Context::log`] at debug level, without pairs.
    pub fn debug(&self, message: impl AsRef<str>) {
        self.log(Level::Debug, message, &[]);
    }

    /// [`Context::log`] at info level, without pairs.
    pub fn info(&self, message: impl AsRef<str>) {
        self.log(Level::Info, message, &[]);
    }

    /// [`Context::log`] at warn level, without pairs.
    pub fn warn(&self, message: impl AsRef<str>) {
        self.log(Level::Warn, message, &[]);
    }

    /// [`Context::log`] at error level, without pairs. The job goes on.
    pub fn error(&self, message: impl AsRef<str>) {
        self.log(Level::Error, message, &[]);
    }

    /// Says how far the attempt is, in percent; more than 100 counts as 100. The last word wins.
    pub fn progress(&self, percent: u8, note: impl AsRef<str>) {
        self.host.progress(percent.min(100), note.as_ref());
    }

    /// Keeps bytes for the next attempt, in case this one does not finish. They are written at
    /// once and replace those kept before.
    ///
    /// Fails with code `checkpoint` when the bytes are more than the host keeps (1 MiB), or when
    /// the attempt has lost its lease.
    pub fn checkpoint(&self, bytes: &[u8]) -> Result<(), Error> {
        self.host.checkpoint(bytes).map_err(|message| Error::retry(message).with_code("checkpoint"))
    }

    /// [`Context::checkpoint`] with a value, written as JSON.
    pub fn checkpoint_json<T: Serialize>(&self, value: &T) -> Result<(), Error> {
        self.checkpoint(&codec::to_json(value)?)
    }

    /// What the last successful [`Context::checkpoint`] of any attempt of this job kept.
    pub fn last_checkpoint(&self) -> Option<Vec<u8>> {
        self.host.last_checkpoint()
    }

    /// [`Context::last_checkpoint`] as a value.
    ///
    /// A checkpoint of another shape, as an older version of the handler may have left it, is a
    /// permanent error with code `bad-checkpoint`.
    pub fn last_checkpoint_json<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        self.last_checkpoint().map(|bytes| codec::from_json(&bytes)).transpose().map_err(
            |problem| {
                Error::permanent(format!("the last checkpoint does not fit: {problem}"))
                    .with_code("bad-checkpoint")
            },
        )
    }

    /// Asks for more time, added to the deadline, and returns what remains now: less than asked
    /// for where the tenant's cap is reached. Whole milliseconds.
    ///
    /// Fails with code `deadline` when the host grants none.
    pub fn extend_deadline(&self, by: Duration) -> Result<Duration, Error> {
        self.host.extend_deadline(by).map_err(|message| Error::retry(message).with_code("deadline"))
    }

    /// How long until the attempt is killed.
    pub fn remaining(&self) -> Duration {
        self.host.remaining()
    }

    /// Makes a token for one callback: whoever has it may call back once, by
    /// `POST /api/v1/callbacks/TOKEN`, while the job waits for it.
    ///
    /// Each call makes another one, and only the last can be waited for.
    pub fn create_callback(&self) -> String {
        self.host.create_callback()
    }

    /// Puts the job aside until somebody calls back, or until `timeout` is over. It holds no slot
    /// meanwhile, and nothing is counted against it. Then the handler starts anew, with the same
    /// input, the last checkpoint, and what [`Context::resumed`] answers.
    ///
    /// The attempt ends in here; only an error comes back. Its code is `suspend` when the timeout
    /// is not between 1 s and 30 days, or the token is not the last one that this attempt made.
    /// Natively, in a test, it is always an error, with code `suspended` when all is well.
    ///
    /// ```
    /// use cofferdam_guest::{Context, Error, Resumption, handler};
    /// use std::time::Duration;
    ///
    /// /// Asks a person, and waits for the answer for a day.
    /// #[handler]
    /// fn approve(ctx: &Context) -> Result<String, Error> {
    ///     match ctx.resumed() {
    ///         Some(Resumption::CalledBack(answer)) => Ok(String::from_utf8(answer)?),
    ///         Some(Resumption::TimedOut) => Err(Error::permanent("nobody answered")),
    ///         None => {
    ///             let callback = ctx.create_callback();
    ///             ctx.info(format!("answer to {callback}"));
    ///             Err(ctx.wait_for(&callback, Duration::from_hours(24)))
    ///         }
    ///     }
    /// }
    /// ```
    pub fn wait_for(&self, callback: &str, timeout: Duration) -> Error {
        self.suspend_until(Some(callback), timeout)
    }

    /// Puts the job aside for `time`, like [`Context::wait_for`] without a callback.
    pub fn sleep(&self, time: Duration) -> Error {
        self.suspend_until(None, time)
    }

    fn suspend_until(&self, callback: Option<&str>, timeout: Duration) -> Error {
        match self.host.suspend_until(callback, timeout) {
            Ok(()) => Error::snooze(timeout, "the job is put aside").with_code("suspended"),
            Err(problem) => Error::permanent(problem).with_code("suspend"),
        }
    }

    /// How the job's last wait ended: nothing when it has not waited yet. It stays the same for
    /// all attempts until the job waits again.
    pub fn resumed(&self) -> Option<Resumption> {
        self.host.resumed()
    }

    /// The value of a secret of the tenant, which the manifest must name under `grants.secrets`.
    ///
    /// Whoever needs it only in a header of a request had better take
    /// [`Context::secret_placeholder`]: what a handler does not hold, it cannot write into a log or
    /// an error by mistake.
    ///
    /// Fails with code `secret` when the manifest does not name it, when the tenant has none of the
    /// name, or when it cannot be read at the moment. The error asks for a retry: somebody may set
    /// it meanwhile.
    ///
    /// ```
    /// use cofferdam_guest::{Context, Error, handler, testing::Job};
    ///
    /// /// Says how long the password is.
    /// #[handler]
    /// fn measure(ctx: &Context) -> Result<usize, Error> {
    ///     Ok(ctx.secret("PASSWORD")?.len())
    /// }
    ///
    /// let run = Job::new().with_secret("PASSWORD", "hunter2").run(measure, ());
    /// assert_eq!(run.result.unwrap(), 7);
    /// assert_eq!(Job::new().run(measure, ()).result.unwrap_err().code(), "secret");
    /// ```
    pub fn secret(&self, name: &str) -> Result<String, Error> {
        self.host.secret(name).map_err(no_secret)
    }

    /// A text that stands for the value of a secret in the headers of outgoing requests. The host
    /// puts the value in its place when the request leaves; anywhere else, and in any other
    /// attempt, it is a text without meaning.
    ///
    /// Fails as [`Context::secret`] does.
    pub fn secret_placeholder(&self, name: &str) -> Result<String, Error> {
        self.host.secret_placeholder(name).map_err(no_secret)
    }

    /// Whether someone asked for the job to be cancelled. The attempt is killed shortly after.
    pub fn cancelled(&self) -> bool {
        self.host.cancelled()
    }
}

fn no_secret(problem: String) -> Error {
    Error::retry(problem).with_code("secret")
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("info", &self.info).finish_non_exhaustive()
    }
}
