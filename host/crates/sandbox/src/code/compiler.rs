//! Compiling in a process of its own, from the parent's side.
//!
//! A compiler that reads hostile bytes is the part of this system that is most likely to be made to
//! take minutes or gigabytes, and the one where a bug reaches furthest. So it gets a process: with
//! bounds on its time and its memory that the kernel enforces, without a database, a network, an
//! environment or a file. What it answers is taken for machine code that may be run, as it must be;
//! a compiler that was taken over can do to the worker what that code can do.

use super::artefact::Artefact;
use super::compile::{Effort, compile};
use super::fingerprint::Fingerprint;
use super::protocol::{Bounds, FromCompiler, MAX_CODE, ToCompiler, VERSION};
use crate::apart::frame::{self, Frame, FrameError, Outgoing};
use crate::apart::process::{Process, describe};
use crate::engine;
use crate::reject::Reject;
use bytes::Bytes;
use cofferdam_core::hint::Hint;
use cofferdam_core::module::Digest;
use nix::sys::signal::Signal;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::timeout;

/// The command of the executable that answers with [`serve_compiler`](super::serve_compiler).
const COMMAND: &str = "compile-component";

/// How long a new process may take to say what it is. Generous, for busy machines.
const GREETING: Duration = Duration::from_secs(20);

/// Threads of one compiler. More of them take more memory at once, and a machine runs several
/// compilers.
const THREADS: usize = 4;

/// What one compilation may use. Each number stops a component that is made to be slow to compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompilerBounds {
    /// Time of processors, all threads together, in whole seconds. The largest components that
    /// people use (a Python interpreter) take 35 s.
    pub cpu: Duration,
    /// Time on the clock, from the start of the process.
    pub wall: Duration,
    /// Address space, in bytes. The largest components take half a gigabyte.
    pub memory: u64,
}

impl Default for CompilerBounds {
    fn default() -> Self {
        Self { cpu: Duration::from_mins(1), wall: Duration::from_mins(2), memory: 2 << 30 }
    }
}

/// Compiles in processes of their own. Copies are the same.
#[derive(Clone, Debug)]
pub struct Compiler(Arc<Place>);

#[derive(Debug)]
enum Place {
    /// In processes of this executable.
    Apart { executable: PathBuf, bounds: CompilerBounds },
    /// In this one.
    Here,
}

/// Why there is no machine code.
#[derive(Debug, Error)]
pub enum CompilerError {
    /// The component is why: it does not compile, or not within its bounds.
    #[error(transparent)]
    Rejected(Reject),
    /// The process could not be started, or is none of ours.
    #[error("the compiler's process does not work: {0}")]
    Process(String),
}

/// What became of one try.
enum Try {
    Done(Artefact),
    Rejected(Reject),
    /// It ran out of time.
    Slow(String),
}

impl Compiler {
    /// `executable` is called as `executable compile-component --parent PID`, and must answer with
    /// [`serve_compiler`](super::serve_compiler) of this same version of the crate. Its path must
    /// be absolute.
    pub fn apart(executable: PathBuf, bounds: CompilerBounds) -> Self {
        Self(Arc::new(Place::Apart { executable, bounds }))
    }

    /// One that compiles in this process, without any bounds: for tests and measurements, whose
    /// components nobody else has made.
    pub fn here() -> Self {
        Self(Arc::new(Place::Here))
    }

    /// Asks what its code would run on; starts a process for that.
    pub(crate) async fn fingerprint(&self) -> Result<Fingerprint, CompilerError> {
        match &*self.0 {
            Place::Apart { executable, bounds } => {
                Ok(Child::start(executable, *bounds).await?.fingerprint)
            }
            Place::Here => {
                let engine = engine::compiling(Effort::Full);
                let engine = engine.map_err(|error| CompilerError::Process(error.to_string()))?;
                Ok(Fingerprint::of(&engine))
            }
        }
    }

    /// Compiles a component. One that takes too long is tried once more with less effort. May be
    /// dropped: the process ends with it.
    pub(crate) async fn compile(&self, component: Bytes) -> Result<Artefact, CompilerError> {
        let (executable, bounds) = match &*self.0 {
            Place::Apart { executable, bounds } => (executable, *bounds),
            Place::Here => return here(component).await,
        };
        for effort in [Effort::Full, Effort::Quick] {
            match attempt(executable, bounds, component.clone(), effort).await? {
                Try::Done(artefact) => return Ok(artefact),
                Try::Rejected(reject) => return Err(CompilerError::Rejected(reject)),
                Try::Slow(how) => {
                    tracing::info!(
                        component = %Digest::of(&component).short(), how,
                        "a component takes too long to compile"
                    );
                }
            }
        }
        let CompilerBounds { cpu, wall, .. } = bounds;
        Err(CompilerError::Rejected(Reject::TooExpensive { cpu, wall }))
    }
}

async fn here(component: Bytes) -> Result<Artefact, CompilerError> {
    let compiling = tokio::task::spawn_blocking(move || compile(&component, Effort::Full));
    let compiled = compiling.await;
    let compiled = compiled.map_err(|error| CompilerError::Process(error.to_string()))?;
    compiled.map_err(CompilerError::Rejected)
}

/// One try in one process.
async fn attempt(
    executable: &Path,
    bounds: CompilerBounds,
    component: Bytes,
    effort: Effort,
) -> Result<Try, CompilerError> {
    let digest = Digest::of(&component);
    let mut child = Child::start(executable, bounds).await?;
    let answer = timeout(bounds.wall, child.ask(component, effort)).await;
    let Ok(answer) = answer else {
        child.process.kill().await;
        return Ok(Try::Slow("it ran out of time".to_owned()));
    };
    match answer {
        Ok(Some(Frame { message: FromCompiler::Compiled, body })) => {
            let artefact = Artefact::read(body)
                .map_err(|error| CompilerError::Process(format!("its answer: {error}")))?;
            if artefact.component() != digest || *artefact.fingerprint() != child.fingerprint {
                return Err(CompilerError::Process("it compiled something else".to_owned()));
            }
            Ok(Try::Done(artefact))
        }
        Ok(Some(Frame { message: FromCompiler::Refused { message }, .. })) => {
            Ok(Try::Rejected(Reject::Compile(message.into())))
        }
        Ok(Some(_)) => Err(CompilerError::Process("it spoke out of turn".to_owned())),
        // It ended while it compiled.
        Ok(None) | Err(FrameError::Truncated | FrameError::Io(_)) => Ok(child.post_mortem().await),
        Err(error) => Err(CompilerError::Process(error.to_string())),
    }
}

/// A compiler's process that has greeted.
struct Child {
    process: Process,
    to: ChildStdin,
    from: ChildStdout,
    fingerprint: Fingerprint,
}

impl Child {
    /// Starts it, and hears what it is.
    async fn start(executable: &Path, bounds: CompilerBounds) -> Result<Self, CompilerError> {
        let env = [
            ("RAYON_NUM_THREADS", threads().to_string()),
            // Each arena reserves address space, which is bounded.
            ("MALLOC_ARENA_MAX", "2".to_owned()),
        ];
        let started = Process::start(executable, COMMAND, &env);
        let (mut process, mut to, mut from) = started.map_err(|error| {
            CompilerError::Process(format!("`{}`: {error}", executable.display()))
        })?;
        let CompilerBounds { cpu, memory, .. } = bounds;
        let greeting = timeout(GREETING, async {
            Outgoing::of(&ToCompiler::Greet(Bounds { cpu, memory }))?
                .write(&mut to)
                .await
                .map_err(FrameError::Io)?;
            frame::read::<FromCompiler>(&mut from, 0).await
        });
        let why = match greeting.await {
            Ok(Ok(Some(Frame {
                message: FromCompiler::Hello { version, fingerprint }, ..
            }))) if version == VERSION => {
                return Ok(Self { process, to, from, fingerprint });
            }
            Ok(Ok(Some(_))) => "it is of another version".to_owned(),
            Ok(Ok(None) | Err(FrameError::Truncated | FrameError::Io(_))) => {
                ended(&mut process).await
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it did not greet".to_owned(),
        };
        process.kill().await;
        Err(CompilerError::Process(why))
    }

    async fn ask(
        &mut self,
        component: Bytes,
        effort: Effort,
    ) -> Result<Option<Frame<FromCompiler>>, FrameError> {
        let order = Outgoing::with(&ToCompiler::Compile { effort }, vec![component])?;
        // One that has ended does not take it in; why it ended is seen by what it does not answer.
        let _ = order.write(&mut self.to).await;
        frame::read(&mut self.from, MAX_CODE).await
    }

    /// What the end of the process means for the component: it is the component that did it, by
    /// time, by memory, or by a bug of the compiler.
    async fn post_mortem(mut self) -> Try {
        let status = self.process.end().await;
        let signal = status.and_then(|status| status.signal());
        if signal == Some(Signal::SIGXCPU as i32) {
            return Try::Slow("it ran out of the time of processors".to_owned());
        }
        let how = match status {
            Some(status) => describe(status),
            None => "stopped talking, and was killed".to_owned(),
        };
        let said = self.process.last_words().await.unwrap_or_default();
        tracing::warn!(how, said, "a compiler ended without an answer");
        let memory = said.contains("memory allocation of") || said.contains("out of memory");
        Try::Rejected(if memory {
            Reject::Compile("the compiler needs more memory than it may have".into())
        } else {
            Reject::Compile(format!("the compiler {how}").into())
        })
    }
}

async fn ended(process: &mut Process) -> String {
    let how = match process.end().await {
        Some(status) => describe(status),
        None => "stopped talking".to_owned(),
    };
    match process.last_words().await {
        Some(said) => format!("it {how}: {said}"),
        None => format!("it {how}"),
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().min(THREADS))
}

impl Hint for CompilerError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Rejected(reject) => reject.hint(),
            Self::Process(_) => Some(
                "`cofferdam doctor` tries it; the executable may have been replaced while this ran"
                    .to_owned(),
            ),
        }
    }
}
