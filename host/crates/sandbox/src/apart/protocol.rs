//! What the two processes say to each other.
//!
//! The parent sets up, the child greets; the parent hands over the artefact, the child loads it and
//! is ready; the parent starts the attempt, the child reports how it ended. Times are sent
//! as what remains of them: neither process can read the other's clock.

use crate::attempt::JobInfo;
use crate::kill::KillReason;
use crate::settings::{Pooling, SandboxSettings};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use cofferdam_core::class::FailureClass;
use cofferdam_core::egress::FetchError;
use cofferdam_core::limits::Limits;
use cofferdam_core::log::LogLine;
use cofferdam_core::outcome::{Failure, RetryAdvice, Usage};
use cofferdam_core::secret::SecretName;
use cofferdam_core::wait::{CallbackHash, Resumption};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Which protocol this is. Both ends are the same executable, unless somebody replaced the file
/// while the parent ran.
pub(super) const VERSION: &str = concat!("2/", env!("CARGO_PKG_VERSION"));

/// How often the child says that its guest thread is alive.
pub(super) const PULSE: Duration = Duration::from_secs(1);

/// The shortest time between two reports of progress. Only the last word counts, and a guest may
/// say it as often as it likes.
pub(super) const PROGRESS_PAUSE: Duration = Duration::from_millis(100);

/// From the parent to the child.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToChild {
    /// The first word.
    SetUp(SetUp),
    /// Load this. The body is the artefact.
    Prepare,
    /// Run it. The body is the input and, after it, the last checkpoint.
    Start(Box<Start>),
    /// The lease was renewed.
    Lease { remaining: Duration },
    /// End the attempt.
    Kill(#[serde(with = "KillReasonForm")] KillReason),
    /// The answer to [`ToParent::Checkpoint`].
    Checkpointed(Result<(), String>),
    /// The answer to [`ToParent::ExtendDeadline`]: the time that remains.
    Extended(Result<Duration, String>),
    /// The answer to [`ToParent::Secret`]: the value, or what stands for it.
    Secret(Result<Told, String>),
    /// The answer to [`ToParent::Fetch`]. The body is the answer's.
    Fetched { number: u64, answer: Result<Head, FetchError> },
}

/// A text that is not for logs.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Told(pub(super) String);

impl std::fmt::Debug for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Told(..)")
    }
}

/// The head of a request or of an answer. Values of headers are bytes, so they travel as Base64.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Head {
    /// The method, or the status.
    pub(super) what: String,
    /// Only of a request.
    pub(super) uri: String,
    headers: Vec<(String, String)>,
}

impl Head {
    pub(super) fn of_request(request: &http::request::Parts) -> Self {
        Self {
            what: request.method.to_string(),
            uri: request.uri.to_string(),
            headers: written(&request.headers),
        }
    }

    pub(super) fn of_answer(answer: &http::response::Parts) -> Self {
        Self {
            what: answer.status.as_str().to_owned(),
            uri: String::new(),
            headers: written(&answer.headers),
        }
    }

    /// The request that it is the head of, if it is one.
    pub(super) fn request<T>(&self, body: T) -> Option<http::Request<T>> {
        let request = http::Request::builder().method(self.what.as_str()).uri(self.uri.as_str());
        let mut request = request.body(body).ok()?;
        *request.headers_mut() = self.headers()?;
        Some(request)
    }

    /// The answer that it is the head of, if it is one.
    pub(super) fn answer<T>(&self, body: T) -> Option<http::Response<T>> {
        let mut answer = http::Response::builder().status(self.what.as_str()).body(body).ok()?;
        *answer.headers_mut() = self.headers()?;
        Some(answer)
    }

    fn headers(&self) -> Option<HeaderMap> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let name: HeaderName = name.parse().ok()?;
            let value = BASE64.decode(value).ok()?;
            headers.try_append(name, HeaderValue::from_bytes(&value).ok()?).ok()?;
        }
        Some(headers)
    }
}

fn written(headers: &HeaderMap) -> Vec<(String, String)> {
    let header = |(name, value): (&HeaderName, &HeaderValue)| {
        (name.to_string(), BASE64.encode(value.as_bytes()))
    };
    headers.iter().map(header).collect()
}

/// What the child's sandbox is like.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SetUp {
    pub(super) version: String,
    tick: Duration,
    pooling: PoolingForm,
    max_memory_bytes: u64,
}

/// One attempt.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Start {
    #[serde(with = "JobInfoForm")]
    pub(super) info: JobInfo,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) limits: Limits,
    /// How much of the deadline remains.
    pub(super) deadline: Duration,
    /// How much of the lease remains, where there is one.
    pub(super) lease: Option<Duration>,
    /// How many bytes of the body are the input.
    pub(super) input_bytes: usize,
    /// Whether the rest of the body is a checkpoint.
    pub(super) checkpoint: bool,
    /// How the job's last wait ended. Bytes of a callback are few enough for a header.
    pub(super) resumed: Option<Resumption>,
}

/// From the child to the parent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToParent {
    /// The sandbox has started.
    Hello { version: String },
    /// It has not. Comes instead of a greeting.
    Unable { message: String },
    /// The component is loaded.
    Ready,
    /// It cannot be.
    Refused { code: String, message: String },
    /// A line of log.
    Log(LogLine),
    /// How far the guest is.
    Progress { percent: u8, note: String },
    /// Keep the body for the next attempt. The guest waits for the answer.
    Checkpoint,
    /// Move the deadline. The guest waits for the answer.
    ExtendDeadline { by: Duration },
    /// Tell a secret, or what stands for it. The guest waits for the answer.
    Secret { name: SecretName, placeholder: bool },
    /// Send a request, whose body is the body. Others may be made before it is answered.
    Fetch { number: u64, head: Head, time: Duration },
    /// Nobody waits for the answer of this request any more.
    Forget { number: u64 },
    /// The guest thread is not stuck.
    Pulse,
    /// The end of the attempt, and the last word. The body is the output.
    Ended(Box<Ended>),
}

/// How an attempt ended, as the child says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Ended {
    /// Nothing when it completed.
    pub(super) failure: Option<Failed>,
    pub(super) usage: Usage,
}

/// A failure.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Failed(#[serde(with = "FailureForm")] pub(super) Failure);

impl SetUp {
    pub(super) fn new(settings: &SandboxSettings) -> Self {
        Self {
            version: VERSION.to_owned(),
            tick: settings.tick,
            pooling: match settings.pooling {
                Pooling::Auto => PoolingForm::Auto,
                Pooling::Off => PoolingForm::Off,
                Pooling::Required => PoolingForm::Required,
            },
            max_memory_bytes: settings.max_memory_bytes,
        }
    }

    /// The settings of a sandbox with room for one.
    pub(super) fn sandbox(&self) -> SandboxSettings {
        SandboxSettings {
            slots: 1,
            threads: 1,
            tick: self.tick,
            pooling: match self.pooling {
                PoolingForm::Auto => Pooling::Auto,
                PoolingForm::Off => Pooling::Off,
                PoolingForm::Required => Pooling::Required,
            },
            max_memory_bytes: self.max_memory_bytes,
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PoolingForm {
    Auto,
    Off,
    Required,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "KillReason", rename_all = "snake_case")]
enum KillReasonForm {
    Cancelled,
    LeaseLost,
    Shutdown,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "JobInfo")]
struct JobInfoForm {
    id: String,
    kind: String,
    queue: String,
    tenant: String,
    attempt: u32,
    max_attempts: u32,
    priority: u8,
    created_at: u64,
    deadline_ms: u64,
    idempotency_key: String,
    workflow: Option<String>,
    metadata: Vec<(String, String)>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Failure")]
struct FailureForm {
    class: FailureClass,
    code: String,
    message: String,
    backtrace: String,
    advice: RetryAdvice,
    callback: Option<Box<CallbackHash>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back<T: Serialize + serde::de::DeserializeOwned>(message: &T) -> T {
        serde_json::from_slice(&serde_json::to_vec(message).unwrap()).unwrap()
    }

    #[test]
    fn an_attempt_arrives_as_it_was_sent() {
        // Given an attempt with something in every field
        let info = JobInfo {
            id: "0197".to_owned(),
            attempt: 2,
            deadline_ms: u64::MAX,
            workflow: Some("w".to_owned()),
            metadata: vec![("k".to_owned(), "\u{0}\"é".to_owned())],
            ..JobInfo::default()
        };
        let start = Start {
            info,
            args: vec!["-x".to_owned()],
            env: vec![("A".to_owned(), "b".to_owned())],
            limits: Limits::default(),
            deadline: Duration::from_nanos(1_234_567_891),
            lease: Some(Duration::ZERO),
            input_bytes: 7,
            checkpoint: true,
            resumed: Some(Resumption::CalledBack(vec![0, 255])),
        };
        // when it is sent
        let ToChild::Start(came) = back(&ToChild::Start(Box::new(start))) else {
            panic!("it is another message")
        };
        // then nothing of it is lost.
        assert_eq!(came.info.metadata, [("k".to_owned(), "\u{0}\"é".to_owned())]);
        assert_eq!((came.info.attempt, came.info.deadline_ms), (2, u64::MAX));
        assert_eq!(came.limits, Limits::default());
        assert_eq!(came.resumed, Some(Resumption::CalledBack(vec![0, 255])));
        assert_eq!(came.deadline, Duration::from_nanos(1_234_567_891));
        assert_eq!(
            (came.lease, came.input_bytes, came.checkpoint),
            (Some(Duration::ZERO), 7, true)
        );
    }

    #[test]
    fn a_request_arrives_as_it_was_sent() {
        // Given a request with a header that is no text, and one twice
        let request = http::Request::post("https://example.com/a?b")
            .header("x", HeaderValue::from_bytes(&[0xff, b'y']).unwrap())
            .header("x", "z")
            .body(())
            .unwrap();
        let (head, ()) = request.into_parts();
        // when its head is sent, then the same comes out.
        let came = back(&Head::of_request(&head)).request(()).unwrap();
        assert_eq!((came.method(), came.uri()), (&head.method, &head.uri));
        assert_eq!(*came.headers(), head.headers);
        // What is no head of an answer is none.
        assert!(Head::of_request(&head).answer(()).is_none());
    }

    #[test]
    fn a_failure_arrives_as_it_was_sent() {
        let mut failure = Failure::new(FailureClass::Snoozed, "later", "not yet");
        failure.advice = RetryAdvice::After(Duration::from_millis(u64::MAX));
        let ended = Ended { failure: Some(Failed(failure.clone())), usage: Usage::default() };
        let ToParent::Ended(came) = back(&ToParent::Ended(Box::new(ended))) else {
            panic!("it is another message")
        };
        assert_eq!(came.failure.unwrap().0, failure);
    }

    #[test]
    fn a_sandbox_apart_is_like_the_worker_s_own_but_for_its_size() {
        let worker = SandboxSettings {
            slots: 64,
            threads: 8,
            pooling: Pooling::Off,
            max_memory_bytes: 7,
            ..SandboxSettings::default()
        };
        let apart = back(&SetUp::new(&worker)).sandbox();
        assert_eq!(apart, SandboxSettings { slots: 1, threads: 1, ..worker });
    }
}
