//! The child: one sandbox with one place, one component, one attempt.

use super::confine::{self, Unfit};
use super::forward::{Forward, Link};
use super::frame::{self, Frame, FrameError};
use super::protocol::{Ended, Failed, PULSE, SetUp, Start, ToChild, ToParent, VERSION};
use super::walls::{self, WallError};
use crate::attempt::Attempt;
use crate::code::{Artefact, MAX_CODE, Prepared};
use crate::kill::Reins as _;
use crate::reject::Reject;
use crate::running::Running;
use crate::sandbox::Sandbox;
use bytes::Bytes;
use cofferdam_core::history::bounded;
use cofferdam_core::outcome::{End, Outcome};
use std::error::Error;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use thiserror::Error;
use tokio::net::unix::pipe;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

/// Why the child ended without an outcome. Its parent tells this to whoever asks for the job.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The process that started this one is gone, or never was its parent.
    #[error("process {parent} is not the parent of this one")]
    Orphan {
        /// Which process it was to be.
        parent: u32,
    },
    /// The kernel refused to confine this process.
    #[error("the kernel does not confine this process")]
    Confine(#[source] io::Error),
    /// Standard input and output are no pipes, or nothing can wait for them.
    #[error("cannot talk to the parent")]
    Pipes(#[source] io::Error),
    /// The parent said something that it should not have.
    #[error("the parent broke the protocol: {0}")]
    Protocol(String),
}

impl From<FrameError> for ServeError {
    fn from(error: FrameError) -> Self {
        Self::Protocol(chain(&error))
    }
}

impl From<WallError> for ServeError {
    fn from(error: WallError) -> Self {
        Self::Confine(io::Error::other(error))
    }
}

/// Runs the one attempt that the parent, a process that [`Apart`](super::Apart) started this one
/// from, gives it through the two pipes, and returns when its outcome is told or the parent is
/// gone. Has to be the first thing that a process does, because it closes every descriptor but
/// the standard ones, and the last, because guests' threads may go on.
pub fn serve(stdin: impl AsFd, stdout: impl AsFd, parent: u32) -> Result<(), ServeError> {
    confine::confine(parent).map_err(|unfit| match unfit {
        Unfit::Orphan { parent } => ServeError::Orphan { parent },
        Unfit::Kernel(errno) => ServeError::Confine(errno.into()),
    })?;
    let stdin = stdin.as_fd().try_clone_to_owned().map_err(ServeError::Pipes)?;
    let stdout = stdout.as_fd().try_clone_to_owned().map_err(ServeError::Pipes)?;
    // Whatever else writes to standard output is no frame.
    nix::unistd::dup2_stdout(io::stderr()).map_err(|errno| ServeError::Pipes(errno.into()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(ServeError::Pipes)?;
    let served = runtime.block_on(async {
        let from = pipe::Receiver::from_owned_fd(stdin).map_err(ServeError::Pipes)?;
        let to = pipe::Sender::from_owned_fd(stdout).map_err(ServeError::Pipes)?;
        converse(from, to).await
    });
    // A compiler that is still at work is waited for by nobody.
    runtime.shutdown_background();
    served
}

async fn converse(from: pipe::Receiver, to: pipe::Sender) -> Result<(), ServeError> {
    let (link, writer) = Link::open(to);
    let mut parent = Parent { frames: hear(from), link };
    match parent.serve().await {
        Ok(()) => {
            // The last word is on its way. A parent that is gone does not hear it.
            let _ = writer.await;
            Ok(())
        }
        Err(Gone::Parent) => Ok(()),
        Err(Gone::Error(error)) => Err(error),
    }
}

/// Why there is nothing more to do.
enum Gone {
    /// The parent closed its end.
    Parent,
    Error(ServeError),
}

impl<E: Into<ServeError>> From<E> for Gone {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// The other end.
struct Parent {
    frames: mpsc::Receiver<Result<Frame<ToChild>, FrameError>>,
    link: Link,
}

impl Parent {
    async fn serve(&mut self) -> Result<(), Gone> {
        let Frame { message: ToChild::SetUp(set_up), .. } = self.hear().await? else {
            return Err(out_of_turn());
        };
        // Before there is another thread.
        walls::shut_out_files(None)?;
        let sandbox = match start(&set_up) {
            Ok(sandbox) => sandbox,
            Err(message) => {
                return Ok(self.link.conclude(&ToParent::Unable { message }, Vec::new())?);
            }
        };
        self.link.say(&ToParent::Hello { version: VERSION.to_owned() })?;

        let Frame { message: ToChild::Prepare, body } = self.hear().await? else {
            return Err(out_of_turn());
        };
        let prepared = match load(&sandbox, body) {
            Ok(prepared) => prepared,
            Err(refused) => return Ok(self.link.conclude(&refused, Vec::new())?),
        };
        self.link.say(&ToParent::Ready)?;

        let Frame { message: ToChild::Start(start), body } = self.hear().await? else {
            return Err(out_of_turn());
        };
        let host = Arc::new(Forward::new(self.link.clone()));
        let attempt = attempt(*start, body, Arc::clone(&host))?;
        // Before the guest has run, and when all that it is given is there.
        walls::shut_out_calls(0)?;
        let outcome = self.attend(sandbox.run(&prepared, attempt), &host).await?;
        let (failure, output) = match outcome.end {
            End::Completed(output) => (None, output),
            End::Failed(failure) => (Some(Failed(bounded(failure))), Vec::new()),
        };
        let ended = ToParent::Ended(Box::new(Ended { failure, usage: outcome.usage }));
        Ok(self.link.conclude(&ended, output)?)
    }

    /// What the parent says next.
    async fn hear(&mut self) -> Result<Frame<ToChild>, Gone> {
        Ok(self.frames.recv().await.ok_or(Gone::Parent)??)
    }

    /// Is there for the attempt, and for what the parent wants of it, until it ends.
    async fn attend(&mut self, running: Running, host: &Forward) -> Result<Outcome, Gone> {
        let reins = running.kill.clone();
        let outcome = running.outcome();
        tokio::pin!(outcome);
        let mut pulse = interval(PULSE);
        pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                outcome = &mut outcome => return Ok(outcome),
                heard = self.hear() => {
                    let Frame { message, body } = heard?;
                    match message {
                        ToChild::Kill(reason) => reins.kill(reason),
                        ToChild::Lease { remaining } => reins.renew_lease(after(remaining)),
                        ToChild::SetUp(_) | ToChild::Prepare | ToChild::Start(_) => {
                            return Err(out_of_turn());
                        }
                        answer => host.answer(answer, body),
                    }
                }
                // A thread that does not come back from a turn cannot be trusted to end it.
                _ = pulse.tick(), if reins.stuck_for() < PULSE => {
                    self.link.say(&ToParent::Pulse)?;
                }
            }
        }
    }
}

/// Starts the sandbox, or says why there is none.
fn start(set_up: &SetUp) -> Result<Sandbox, String> {
    if set_up.version != VERSION {
        let theirs = &set_up.version;
        return Err(format!("the executable is of version {VERSION}, the worker of {theirs}"));
    }
    Sandbox::start(set_up.sandbox(), Handle::current()).map_err(|error| chain(&error))
}

/// Loads the artefact. It comes from the process that supervises this one, which could as well run
/// whatever it likes here.
fn load(sandbox: &Sandbox, artefact: Bytes) -> Result<Prepared, ToParent> {
    let artefact = Artefact::read(artefact).map_err(|bad| ToParent::Refused {
        code: "compile-failed".to_owned(),
        message: format!("the artefact: {bad}"),
    })?;
    sandbox.load(&artefact).map_err(|reject| refused(&reject))
}

/// The attempt as it was sent.
fn attempt(start: Start, mut body: Bytes, host: Arc<Forward>) -> Result<Attempt, Gone> {
    let Start { info, args, env, limits, deadline, lease, input_bytes, checkpoint, resumed } =
        start;
    if input_bytes > body.len() {
        return Err(ServeError::Protocol("the input is cut off".to_owned()).into());
    }
    let input = body.split_to(input_bytes).into();
    Ok(Attempt {
        info,
        input,
        args,
        env,
        limits,
        deadline: after(deadline),
        lease_until: lease.map(after),
        last_checkpoint: checkpoint.then(|| body.into()),
        resumed,
        host,
    })
}

/// A moment so far ahead, or as far as a day where that is past all clocks.
fn after(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or_else(|| now + Duration::from_hours(24))
}

fn out_of_turn() -> Gone {
    ServeError::Protocol("it spoke out of turn".to_owned()).into()
}

fn refused(reject: &Reject) -> ToParent {
    ToParent::Refused { code: reject.code().to_owned(), message: chain(reject) }
}

/// An error and its causes on one line.
fn chain(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line = format!("{line}: {error}");
        cause = error.source();
    }
    line
}

/// Reads the parent's frames. Nothing when the parent has closed its end.
fn hear(mut from: pipe::Receiver) -> mpsc::Receiver<Result<Frame<ToChild>, FrameError>> {
    let (heard, frames) = mpsc::channel(1);
    tokio::spawn(async move {
        while let Some(frame) = frame::read(&mut from, MAX_CODE).await.transpose() {
            let broken = frame.is_err();
            if heard.send(frame).await.is_err() || broken {
                return;
            }
        }
    });
    frames
}
