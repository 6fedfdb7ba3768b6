//! The host of an attempt in the child: everything is passed on to the parent.

use super::frame::{FrameError, Outgoing};
use super::protocol::{Head, PROGRESS_PAUSE, ToChild, ToParent};
use crate::attempt::{Answer, AttemptHost, Call};
use async_trait::async_trait;
use bytes::Bytes;
use cofferdam_core::egress::{FetchError, FetchFault};
use cofferdam_core::log::LogLine;
use cofferdam_core::secret::{SecretName, SecretValue};
use http_body_util::{BodyExt as _, Full};
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncWrite;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

/// What a guest is told when its host is gone. It will not live to use it.
const GONE: &str = "the host is gone";

/// The way to the parent. Frames are queued without a bound of their own: a guest's log is within
/// its budget, and it waits for each of its host calls.
#[derive(Clone)]
pub(super) struct Link {
    queue: mpsc::UnboundedSender<Queued>,
    progress: Arc<watch::Sender<(u8, String)>>,
}

/// A frame, and whether it is the last word.
struct Queued {
    frame: Outgoing,
    last: bool,
}

impl Link {
    /// Starts writing to the parent. The task ends when the last word is written, or when the
    /// parent is gone.
    pub(super) fn open(
        to: impl AsyncWrite + Send + Unpin + 'static,
    ) -> (Self, JoinHandle<io::Result<()>>) {
        let (queue, queued) = mpsc::unbounded_channel();
        let (progress, reported) = watch::channel((0, String::new()));
        let writer = tokio::spawn(write(to, queued, reported));
        (Self { queue, progress: Arc::new(progress) }, writer)
    }

    /// Says something.
    pub(super) fn say(&self, message: &ToParent) -> Result<(), FrameError> {
        self.send(Outgoing::of(message)?, false);
        Ok(())
    }

    /// Says the last word, after which nothing is written.
    pub(super) fn conclude(&self, message: &ToParent, body: Vec<u8>) -> Result<(), FrameError> {
        self.send(Outgoing::with(message, vec![body.into()])?, true);
        Ok(())
    }

    fn send(&self, frame: Outgoing, last: bool) {
        // Nobody writes any more when the parent is gone, and then this process ends.
        let _ = self.queue.send(Queued { frame, last });
    }
}

async fn write(
    mut to: impl AsyncWrite + Unpin,
    mut queued: mpsc::UnboundedReceiver<Queued>,
    mut reported: watch::Receiver<(u8, String)>,
) -> io::Result<()> {
    let mut next_report = Instant::now();
    loop {
        // Only the last word about progress counts, and it is passed on at a pace.
        let report = async {
            sleep_until(next_report).await;
            reported.changed().await
        };
        let next = tokio::select! {
            biased;
            next = queued.recv() => next,
            Ok(()) = report => {
                next_report = Instant::now() + PROGRESS_PAUSE;
                write_report(&mut to, &mut reported).await?;
                continue;
            }
        };
        let Some(Queued { frame, last }) = next else { return Ok(()) };
        if last && reported.has_changed().unwrap_or(false) {
            write_report(&mut to, &mut reported).await?;
        }
        frame.write(&mut to).await?;
        if last {
            return Ok(());
        }
    }
}

async fn write_report(
    to: &mut (impl AsyncWrite + Unpin),
    reported: &mut watch::Receiver<(u8, String)>,
) -> io::Result<()> {
    let (percent, note) = reported.borrow_and_update().clone();
    match Outgoing::of(&ToParent::Progress { percent, note }) {
        Ok(frame) => frame.write(to).await,
        // Notes are bounded, so this cannot be; without it there is one word less of progress.
        Err(_) => Ok(()),
    }
}

/// The host of the one attempt.
pub(super) struct Forward {
    link: Link,
    answers: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    checkpoint: Option<oneshot::Sender<Result<(), String>>>,
    extension: Option<oneshot::Sender<Result<Duration, String>>>,
    secret: Option<oneshot::Sender<Result<String, String>>>,
    /// By their numbers: a guest may wait for several.
    requests: HashMap<u64, oneshot::Sender<Result<Answer, FetchError>>>,
}

impl Forward {
    pub(super) fn new(link: Link) -> Self {
        Self { link, answers: Mutex::default() }
    }

    /// Takes an answer of the parent's to the guest that waits for it. One that was killed
    /// meanwhile does not.
    pub(super) fn answer(&self, message: ToChild, body: Bytes) {
        match message {
            ToChild::Checkpointed(kept) => {
                let waiting = self.waiting(|waiting| waiting.checkpoint.take());
                waiting.map(|waiting| waiting.send(kept));
            }
            ToChild::Extended(remaining) => {
                let waiting = self.waiting(|waiting| waiting.extension.take());
                waiting.map(|waiting| waiting.send(remaining));
            }
            ToChild::Secret(told) => {
                let waiting = self.waiting(|waiting| waiting.secret.take());
                waiting.map(|waiting| waiting.send(told.map(|told| told.0)));
            }
            ToChild::Fetched { number, answer } => {
                let waiting = self.waiting(|waiting| waiting.requests.remove(&number));
                waiting.map(|waiting| waiting.send(answer.and_then(|head| whole(&head, body))));
            }
            _ => {}
        }
    }

    async fn tell_secret(&self, name: &SecretName, placeholder: bool) -> Result<String, String> {
        let (tell, told) = oneshot::channel();
        self.waiting(|waiting| waiting.secret = Some(tell));
        let question = ToParent::Secret { name: name.clone(), placeholder };
        self.link.say(&question).map_err(|error| error.to_string())?;
        told.await.map_err(|_| GONE.to_owned())?
    }

    fn waiting<T>(&self, with: impl FnOnce(&mut Waiting) -> T) -> T {
        with(&mut self.answers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl AttemptHost for Forward {
    fn log(&self, mut line: LogLine) {
        // Pairs can be longer than a frame where the log's budget is large; the message is not.
        if self.link.say(&ToParent::Log(line.clone())).is_err() {
            line.fields = Vec::new();
            let _ = self.link.say(&ToParent::Log(line));
        }
    }

    fn progress(&self, percent: u8, note: String) {
        self.link.progress.send_replace((percent, note));
    }

    async fn checkpoint(&self, bytes: Vec<u8>) -> Result<(), String> {
        let (tell, told) = oneshot::channel();
        self.waiting(|waiting| waiting.checkpoint = Some(tell));
        let frame = Outgoing::with(&ToParent::Checkpoint, vec![bytes.into()]);
        self.link.send(frame.map_err(|error| error.to_string())?, false);
        told.await.map_err(|_| GONE.to_owned())?
    }

    async fn extend_deadline(&self, by: Duration) -> Result<Duration, String> {
        let (tell, told) = oneshot::channel();
        self.waiting(|waiting| waiting.extension = Some(tell));
        self.link.say(&ToParent::ExtendDeadline { by }).map_err(|error| error.to_string())?;
        told.await.map_err(|_| GONE.to_owned())?
    }

    async fn secret(&self, name: &SecretName) -> Result<SecretValue, String> {
        let text = self.tell_secret(name, false).await?;
        SecretValue::new(text.into_bytes()).map_err(|error| error.to_string())
    }

    async fn placeholder(&self, name: &SecretName) -> Result<String, String> {
        self.tell_secret(name, true).await
    }

    async fn fetch(&self, call: Call) -> Result<Answer, FetchError> {
        let Call { number, request, time, .. } = call;
        let (head, body) = request.into_parts();
        let question = ToParent::Fetch { number, head: Head::of_request(&head), time };
        let (tell, told) = oneshot::channel();
        self.waiting(|waiting| waiting.requests.insert(number, tell));
        let mut awaited = Awaited { host: self, number, answered: false };
        let frame = Outgoing::with(&question, vec![body]);
        let frame = frame.map_err(|error| internal(&error.to_string()))?;
        self.link.send(frame, false);
        let answer = told.await.unwrap_or_else(|_| Err(internal(GONE)));
        awaited.answered = true;
        answer
    }
}

/// A request that the guest waits for. When it does so no longer, the parent need not either.
struct Awaited<'a> {
    host: &'a Forward,
    number: u64,
    answered: bool,
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.host.waiting(|waiting| waiting.requests.remove(&self.number));
            // Small, so it can be said; a parent that is gone does not mind.
            let _ = self.host.link.say(&ToParent::Forget { number: self.number });
        }
    }
}

/// The answer to a request, all of which has come.
fn whole(head: &Head, body: Bytes) -> Result<Answer, FetchError> {
    let body = Full::new(body).map_err(|never| match never {}).boxed_unsync();
    head.answer(body).ok_or_else(|| internal("the answer's head is none"))
}

fn internal(message: &str) -> FetchError {
    FetchError::new(FetchFault::Internal, message)
}
