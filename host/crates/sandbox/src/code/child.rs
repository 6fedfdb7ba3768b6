//! Compiling in a process of its own, from the child's side: one component, and the end.

use super::compile::{self, Effort};
use super::fingerprint::Fingerprint;
use super::protocol::{FromCompiler, ToCompiler, VERSION};
use crate::apart::confine::{self, Unfit};
use crate::apart::frame::{self, Frame, FrameError, Outgoing};
use crate::apart::walls::{self, WallError};
use crate::engine;
use crate::reject::Reject;
use bytes::Bytes;
use cofferdam_core::limits::MAX_COMPONENT;
use std::error::Error;
use std::io;
use std::os::fd::AsFd;
use thiserror::Error;
use tokio::net::unix::pipe;

/// Why the child ended without an answer. Its parent tells this to its operator.
#[derive(Debug, Error)]
pub enum CompilerServeError {
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
    /// There is no compiler on this machine.
    #[error("there is no compiler: {0}")]
    Engine(String),
    /// The parent said something that it should not have.
    #[error("the parent broke the protocol: {0}")]
    Protocol(String),
}

impl From<Unfit> for CompilerServeError {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Orphan { parent } => Self::Orphan { parent },
            Unfit::Kernel(errno) => Self::Confine(errno.into()),
        }
    }
}

impl From<WallError> for CompilerServeError {
    fn from(error: WallError) -> Self {
        Self::Confine(io::Error::other(error))
    }
}

impl From<FrameError> for CompilerServeError {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Io(error) => Self::Pipes(error),
            error => Self::Protocol(error.to_string()),
        }
    }
}

/// Compiles the one component that the parent, a process with a
/// [`Compiler`](super::Compiler), gives it through the two pipes, and returns when the artefact is
/// written or the parent wants nothing more. Has to be the first thing that a process does, because
/// it closes every descriptor but the standard ones, and the last.
pub fn serve_compiler(
    stdin: impl AsFd,
    stdout: impl AsFd,
    parent: u32,
) -> Result<(), CompilerServeError> {
    confine::confine(parent)?;
    let stdin = stdin.as_fd().try_clone_to_owned().map_err(CompilerServeError::Pipes)?;
    let stdout = stdout.as_fd().try_clone_to_owned().map_err(CompilerServeError::Pipes)?;
    // Whatever else writes to standard output is no frame.
    nix::unistd::dup2_stdout(io::stderr())
        .map_err(|errno| CompilerServeError::Pipes(errno.into()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(CompilerServeError::Pipes)?.block_on(async {
        let mut from = pipe::Receiver::from_owned_fd(stdin).map_err(CompilerServeError::Pipes)?;
        let mut to = pipe::Sender::from_owned_fd(stdout).map_err(CompilerServeError::Pipes)?;
        converse(&mut from, &mut to).await
    })
}

async fn converse(
    from: &mut pipe::Receiver,
    to: &mut pipe::Sender,
) -> Result<(), CompilerServeError> {
    let Some(Frame { message: ToCompiler::Greet(bounds), .. }) = frame::read(from, 0).await? else {
        return Err(CompilerServeError::Protocol("it did not greet".to_owned()));
    };
    confine::bound(bounds.cpu, bounds.memory)?;
    // Before the compiler starts threads of its own.
    walls::shut_out_files(None)?;
    let engine = engine::compiling(Effort::Full)
        .map_err(|error| CompilerServeError::Engine(format!("{error:#}")))?;
    let hello =
        FromCompiler::Hello { version: VERSION.to_owned(), fingerprint: Fingerprint::of(&engine) };
    say(to, &hello, Vec::new()).await?;

    let max = usize::try_from(MAX_COMPONENT).unwrap_or(usize::MAX);
    match frame::read(from, max).await? {
        // It only wanted to know.
        None => Ok(()),
        Some(Frame { message: ToCompiler::Compile { effort }, body }) => {
            walls::shut_out_calls(0)?;
            // On this thread: there is nothing else to do meanwhile, and a parent that is gone
            // takes this process along.
            match compile::compile(&body, effort) {
                Ok(artefact) => {
                    let pieces = artefact.pieces();
                    let pieces = pieces.map_err(FrameError::Header)?;
                    say(to, &FromCompiler::Compiled, pieces).await
                }
                Err(reject) => {
                    let message = words(&reject);
                    say(to, &FromCompiler::Refused { message }, Vec::new()).await
                }
            }
        }
        Some(_) => Err(CompilerServeError::Protocol("it spoke out of turn".to_owned())),
    }
}

async fn say(
    to: &mut pipe::Sender,
    message: &FromCompiler,
    body: Vec<Bytes>,
) -> Result<(), CompilerServeError> {
    let frame = Outgoing::with(message, body)?;
    frame.write(to).await.map_err(CompilerServeError::Pipes)
}

/// The compiler's own words, without those that the parent puts before them.
fn words(reject: &Reject) -> String {
    let mut words = Vec::new();
    let mut error: Option<&dyn Error> =
        if matches!(reject, Reject::Compile(_)) { reject.source() } else { Some(reject) };
    while let Some(one) = error {
        words.push(one.to_string());
        error = one.source();
    }
    words.join(": ")
}
