//! Supervises one child, from its start until it is gone.
//!
//! One loop hears whoever wants something of the attempt, the clocks, the process and its words,
//! in this order: a child that talks without end delays nothing.

use super::chatter::Chatter;
use super::claims::{self, Known};
use super::clocks::{Alarm, Clocks};
use super::frame::{self, Frame, FrameError, Outgoing};
use super::process::{self, Process};
use super::protocol::{Ended, SetUp, Start, ToChild, ToParent, Told, VERSION};
use super::reins::ApartReins;
use super::requests::{Fetched, Requests};
use super::settings::ApartSettings;
use crate::attempt::{Attempt, AttemptHost};
use crate::code::Artefact;
use crate::kill::KillReason;
use crate::outcome;
use bytes::Bytes;
use cofferdam_core::limits::{Limits, MAX_CHECKPOINT};
use cofferdam_core::outcome::{End, Failure, Outcome};
use cofferdam_core::secret::SecretName;
use std::future::pending;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::time::sleep_until;

/// Frames that wait to be written. A child that does not read more of them is none of ours.
const QUEUE: usize = 64;

/// The command of the executable that answers with [`serve`](super::serve).
const COMMAND: &str = "attempt";

/// What is to be run.
pub(super) struct Order {
    pub(super) artefact: Artefact,
    pub(super) attempt: Attempt,
}

/// How far the child is.
enum Phase {
    /// It starts. Nothing of the order was given to it.
    Greeting(Box<Order>),
    /// It loads the artefact.
    Preparing(Box<Attempt>),
    /// It runs the attempt, since then.
    Running(Instant),
}

/// How it ended.
enum Last {
    /// As the child says.
    Reported(Box<Ended>, Bytes),
    /// As this side decided.
    Decided(Failure),
    /// It did what no child of ours does.
    Broke(String),
    /// It has no more to say.
    Silent,
}

/// A host call of the guest that is being answered.
type Call = Pin<Box<dyn Future<Output = Answer> + Send>>;

enum Answer {
    Checkpointed(Result<(), String>),
    /// Asked then.
    Extended(Instant, Result<Duration, String>),
    Secret(Result<Told, String>),
}

struct Supervisor<'a> {
    reins: &'a ApartReins,
    clocks: Clocks,
    phase: Phase,
    host: Arc<dyn AttemptHost>,
    limits: Limits,
    leased: bool,
    chatter: Chatter,
    call: Option<Call>,
    requests: Requests,
    to_child: mpsc::Sender<Outgoing>,
    killed: Option<KillReason>,
    renewals: u64,
}

/// Runs the order to its end, on a thread of its own.
pub(super) fn run(
    executable: &Path,
    settings: &ApartSettings,
    order: Order,
    reins: &ApartReins,
) -> Outcome {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(claims::no_process(&error.to_string()), Duration::ZERO),
    };
    let outcome = runtime.block_on(supervise(executable, settings, order, reins));
    // The host may have work of its own on the threads that block.
    runtime.shutdown_background();
    outcome
}

async fn supervise(
    executable: &Path,
    settings: &ApartSettings,
    order: Order,
    reins: &ApartReins,
) -> Outcome {
    let (mut process, stdin, stdout) = match Process::start(executable, COMMAND, &[]) {
        Ok(started) => started,
        Err(error) => {
            let why = format!("`{}` does not start: {error}", executable.display());
            return failed(claims::no_process(&why), Duration::ZERO);
        }
    };
    if let Some(pid) = process.pid() {
        reins.set_pid(pid);
        tracing::debug!(pid, job = %order.attempt.info.id, "an attempt runs in its own process");
    }
    let now = Instant::now();
    reins.beat(now);
    let limits = order.attempt.limits.clone();
    let frames = hear(stdout, &limits);
    let mut supervisor = Supervisor {
        reins,
        clocks: Clocks::new(now, order.attempt.deadline, settings.preparation),
        host: Arc::clone(&order.attempt.host),
        chatter: Chatter::new(Arc::clone(&order.attempt.host), &limits, now),
        leased: order.attempt.lease_until.is_some(),
        requests: Requests::new(Arc::clone(&order.attempt.host), &limits),
        phase: Phase::Greeting(Box::new(order)),
        limits,
        call: None,
        to_child: speak(stdin),
        killed: None,
        renewals: 0,
    };
    let set_up = supervisor.tell(&ToChild::SetUp(SetUp::new(&settings.sandbox)), Vec::new());
    let last = match set_up {
        Ok(()) => supervisor.watch(&mut process, frames).await,
        Err(last) => last,
    };
    supervisor.conclude(last, &mut process).await
}

impl Supervisor<'_> {
    /// Goes on until there is an end.
    async fn watch(
        &mut self,
        process: &mut Process,
        mut frames: mpsc::Receiver<Result<Frame<ToParent>, FrameError>>,
    ) -> Last {
        let mut alive = true;
        loop {
            let (at, alarm) = self.clocks.next(self.reins.lease_until());
            let step = tokio::select! {
                biased;
                () = self.reins.pulled() => self.pulled(),
                () = sleep_until(at.into()) => Err(self.rang(alarm)),
                _ = process.exited(), if alive => {
                    alive = false;
                    self.clocks.exited(Instant::now());
                    Ok(())
                }
                answer = answered(&mut self.call) => self.answer(answer),
                fetched = self.requests.next() => self.fetched(fetched),
                frame = frames.recv() => match frame {
                    Some(Ok(frame)) => self.heard(frame),
                    // A process that is killed stops wherever it is.
                    Some(Err(FrameError::Truncated | FrameError::Io(_))) | None => {
                        Err(Last::Silent)
                    }
                    Some(Err(error)) => Err(Last::Broke(format!("it wrote {error}"))),
                },
            };
            if let Err(last) = step {
                return last;
            }
        }
    }

    /// Somebody wants something.
    fn pulled(&mut self) -> Result<(), Last> {
        if let Some(reason) = self.reins.killed()
            && self.killed.is_none()
        {
            self.killed = Some(reason);
            let Phase::Running(_) = self.phase else {
                return Err(Last::Decided(outcome::ended(reason).failure));
            };
            self.clocks.asked_to_end(Instant::now());
            self.tell(&ToChild::Kill(reason), Vec::new())?;
        }
        let renewals = self.reins.renewals();
        if renewals != self.renewals
            && let Phase::Running(_) = self.phase
        {
            self.renewals = renewals;
            let remaining = self.lease_left(Instant::now());
            self.tell(&ToChild::Lease { remaining }, Vec::new())?;
        }
        Ok(())
    }

    fn rang(&self, alarm: Alarm) -> Last {
        match (alarm, &self.phase) {
            (Alarm::Greeting, _) => Last::Broke("it did not greet".to_owned()),
            (Alarm::Lease, _) => Last::Decided(outcome::ended(KillReason::LeaseLost).failure),
            (Alarm::Kill, _) => {
                let reason = self.killed.unwrap_or(KillReason::Shutdown);
                Last::Decided(outcome::ended(reason).failure)
            }
            (Alarm::Deadline, Phase::Running(_)) => {
                let place = "and its process did not end it: it was killed";
                Last::Decided(claims::overdue(&self.limits, place))
            }
            (Alarm::Deadline, _) => {
                let place = "while its process was started";
                Last::Decided(claims::overdue(&self.limits, place))
            }
            (Alarm::Drain, _) => Last::Silent,
        }
    }

    fn heard(&mut self, frame: Frame<ToParent>) -> Result<(), Last> {
        let now = Instant::now();
        // Nothing has an effect any more, although the alarm may not have rung yet.
        if now >= self.reins.lease_until() {
            return Err(self.rang(Alarm::Lease));
        }
        let Frame { message, body } = frame;
        let expects_body =
            matches!(message, ToParent::Checkpoint | ToParent::Ended(_) | ToParent::Fetch { .. });
        if !body.is_empty() && !expects_body {
            return Err(Last::Broke("it sent bytes that nothing asked for".to_owned()));
        }
        match (message, &self.phase) {
            (ToParent::Hello { version }, Phase::Greeting(_)) if version == VERSION => {
                self.prepare()
            }
            (ToParent::Hello { .. }, Phase::Greeting(_)) => {
                Err(Last::Broke("it is of another version".to_owned()))
            }
            (ToParent::Unable { message }, Phase::Greeting(_)) => {
                Err(Last::Decided(claims::no_process(&message)))
            }
            (ToParent::Ready, Phase::Preparing(_)) => self.start(now),
            (ToParent::Refused { code, message }, Phase::Preparing(_)) => {
                Err(Last::Decided(claims::refused(&code, &message)))
            }
            (ToParent::Pulse, Phase::Preparing(_) | Phase::Running(_)) => {
                self.reins.beat(now);
                self.chatter.sign(now).map_err(broke)
            }
            (ToParent::Log(line), Phase::Running(_)) => self.chatter.log(line).map_err(broke),
            (ToParent::Progress { percent, note }, Phase::Running(_)) => {
                self.chatter.progress(percent, &note, now).map_err(broke)
            }
            (ToParent::Checkpoint, Phase::Running(_)) => self.checkpoint(body),
            (ToParent::ExtendDeadline { by }, Phase::Running(_)) => self.extend(now, by),
            (ToParent::Secret { name, placeholder }, Phase::Running(_)) => {
                self.secret(name, placeholder)
            }
            (ToParent::Fetch { number, head, time }, Phase::Running(_)) => {
                self.requests.begin(number, &head, body, time).map_err(broke)
            }
            (ToParent::Forget { number }, Phase::Running(_)) => {
                self.requests.forget(number);
                Ok(())
            }
            (ToParent::Ended(ended), Phase::Running(_)) => Err(Last::Reported(ended, body)),
            _ => Err(Last::Broke("it spoke out of turn".to_owned())),
        }
    }

    /// Hands the artefact over.
    fn prepare(&mut self) -> Result<(), Last> {
        let greeting = Phase::Running(Instant::now());
        let Phase::Greeting(order) = std::mem::replace(&mut self.phase, greeting) else {
            return Err(Last::Broke("it spoke out of turn".to_owned()));
        };
        let Order { artefact, attempt } = *order;
        self.phase = Phase::Preparing(Box::new(attempt));
        self.clocks.greeted();
        let pieces = artefact.pieces().map_err(|error| {
            Last::Decided(claims::no_process(&format!("the artefact cannot be sent: {error}")))
        })?;
        self.tell(&ToChild::Prepare, pieces)
    }

    /// Hands the attempt over.
    fn start(&mut self, now: Instant) -> Result<(), Last> {
        let phase = std::mem::replace(&mut self.phase, Phase::Running(now));
        let Phase::Preparing(attempt) = phase else {
            return Err(Last::Broke("it spoke out of turn".to_owned()));
        };
        self.clocks.prepared(now);
        self.chatter = Chatter::new(Arc::clone(&self.host), &self.limits, now);
        self.renewals = self.reins.renewals();
        let Attempt { info, input, args, env, limits, last_checkpoint, resumed, .. } = *attempt;
        let start = Start {
            info,
            args,
            env,
            limits,
            deadline: self.clocks.remaining(now),
            lease: self.leased.then(|| self.lease_left(now)),
            input_bytes: input.len(),
            checkpoint: last_checkpoint.is_some(),
            resumed,
        };
        let body = vec![input.into(), last_checkpoint.unwrap_or_default().into()];
        self.tell(&ToChild::Start(Box::new(start)), body)
    }

    fn checkpoint(&mut self, body: Bytes) -> Result<(), Last> {
        if body.len() as u64 > MAX_CHECKPOINT {
            return Err(Last::Broke("its checkpoint is larger than the limit".to_owned()));
        }
        let host = Arc::clone(&self.host);
        self.begin(Box::pin(
            async move { Answer::Checkpointed(host.checkpoint(body.to_vec()).await) },
        ))
    }

    fn extend(&mut self, asked: Instant, by: Duration) -> Result<(), Last> {
        let host = Arc::clone(&self.host);
        self.begin(Box::pin(async move { Answer::Extended(asked, host.extend_deadline(by).await) }))
    }

    fn secret(&mut self, name: SecretName, placeholder: bool) -> Result<(), Last> {
        let host = Arc::clone(&self.host);
        self.begin(Box::pin(async move {
            Answer::Secret(if placeholder {
                host.placeholder(&name).await.map(Told)
            } else {
                host.secret(&name).await.map(|value| Told(value.expose().to_owned()))
            })
        }))
    }

    fn fetched(&self, Fetched { number, answer }: Fetched) -> Result<(), Last> {
        let (answer, body) = match answer {
            Ok((head, body)) => (Ok(head), vec![body]),
            Err(error) => (Err(error), Vec::new()),
        };
        self.tell(&ToChild::Fetched { number, answer }, body)
    }

    /// A guest waits for its host call, so there is never a second one.
    fn begin(&mut self, call: Call) -> Result<(), Last> {
        if self.call.is_some() {
            return Err(Last::Broke("it made two host calls at once".to_owned()));
        }
        self.call = Some(call);
        Ok(())
    }

    fn answer(&mut self, answer: Answer) -> Result<(), Last> {
        match answer {
            Answer::Checkpointed(kept) => self.tell(&ToChild::Checkpointed(kept), Vec::new()),
            Answer::Extended(asked, extended) => {
                let extended = extended.map(|remaining| {
                    self.clocks.extended(asked, remaining);
                    self.clocks.remaining(Instant::now())
                });
                self.tell(&ToChild::Extended(extended), Vec::new())
            }
            Answer::Secret(told) => self.tell(&ToChild::Secret(told), Vec::new()),
        }
    }

    fn tell(&self, message: &ToChild, body: Vec<Bytes>) -> Result<(), Last> {
        let frame = Outgoing::with(message, body);
        let frame = frame.map_err(|error| {
            Last::Decided(claims::no_process(&format!("the attempt cannot be sent: {error}")))
        })?;
        match self.to_child.try_send(frame) {
            // It has closed its end: what became of it is about to be seen.
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => Ok(()),
            Err(mpsc::error::TrySendError::Full(_)) => {
                Err(Last::Broke("it does not read what it is told".to_owned()))
            }
        }
    }

    fn lease_left(&self, now: Instant) -> Duration {
        self.reins.lease_until().saturating_duration_since(now)
    }

    /// Sees to it that the process is gone, and says what became of the attempt.
    async fn conclude(self, last: Last, process: &mut Process) -> Outcome {
        let wall = match self.phase {
            Phase::Running(since) => since.elapsed(),
            Phase::Greeting(_) | Phase::Preparing(_) => Duration::ZERO,
        };
        let how = match last {
            Last::Decided(failure) => {
                process.kill().await;
                return failed(failure, wall);
            }
            Last::Reported(ended, output) => {
                let Self { limits, killed, leased, .. } = &self;
                let known = Known { limits, killed: *killed, leased: *leased, wall };
                match claims::outcome(*ended, output.into(), &known) {
                    Ok(outcome) => {
                        process.end().await;
                        return outcome;
                    }
                    Err(how) => {
                        process.kill().await;
                        format!("broke the protocol: {how}")
                    }
                }
            }
            Last::Broke(how) => {
                process.kill().await;
                format!("broke the protocol: {how}")
            }
            Last::Silent => match (process.end().await, self.killed) {
                (_, Some(reason)) => return failed(outcome::ended(reason).failure, wall),
                (Some(status), None) => process::describe(status),
                (None, None) => "stopped talking, and was killed".to_owned(),
            },
        };
        let mut how = format!("the process of the attempt {how}");
        if let Some(words) = process.last_words().await {
            how = format!("{how}; its standard error ended with: {words}");
        }
        tracing::warn!(how, "an attempt's own process ended without an outcome");
        if let Phase::Greeting(_) = self.phase {
            return failed(claims::no_process(&how), wall);
        }
        failed(claims::process_died(&how), wall)
    }
}

fn broke(how: &'static str) -> Last {
    Last::Broke(how.to_owned())
}

fn failed(failure: Failure, wall: Duration) -> Outcome {
    Outcome { end: End::Failed(failure), usage: claims::unsaid(wall) }
}

/// The answer to the host call that is being made, if there is one.
async fn answered(call: &mut Option<Call>) -> Answer {
    match call {
        Some(making) => {
            let answer = making.await;
            *call = None;
            answer
        }
        None => pending().await,
    }
}

/// Reads the child's frames. One is read ahead: a child that writes more waits.
fn hear(
    mut stdout: ChildStdout,
    limits: &Limits,
) -> mpsc::Receiver<Result<Frame<ToParent>, FrameError>> {
    let max = limits.output_bytes.max(limits.http_body_bytes).max(MAX_CHECKPOINT);
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    let (heard, frames) = mpsc::channel(1);
    tokio::spawn(async move {
        while let Some(frame) = frame::read(&mut stdout, max).await.transpose() {
            let broken = frame.is_err();
            if heard.send(frame).await.is_err() || broken {
                return;
            }
        }
    });
    frames
}

/// Writes frames to the child, in order, as fast as it reads them.
fn speak(mut stdin: ChildStdin) -> mpsc::Sender<Outgoing> {
    let (to_child, mut queue) = mpsc::channel::<Outgoing>(QUEUE);
    tokio::spawn(async move {
        while let Some(frame) = queue.recv().await {
            // It has closed its end: what became of it is seen elsewhere.
            if frame.write(&mut stdin).await.is_err() {
                return;
            }
        }
    });
    to_child
}
