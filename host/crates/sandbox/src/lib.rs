//! The sandbox: compiles WebAssembly components and runs each attempt of a job in a fresh,
//! bounded, killable instance.
//!
//! What a guest may use is bounded on every side: fuel and memory by the store, time by an epoch
//! ticker and by a deadline that the guest's thread enforces from outside, output and logs by
//! sinks of our own. Guests run on threads of their own, never on the caller's runtime.
//!
//! This crate knows every wasmtime type and nothing of databases, tenants or queues.

pub mod apart;
mod attempt;
mod backtrace;
mod bindings;
mod code;
mod command;
mod convert;
mod describe;
mod engine;
#[cfg(fuzzing)]
pub mod fuzzing;
mod handler;
mod host;
mod imports;
mod inbox;
mod inspect;
mod journal;
mod kill;
mod lease;
mod limiter;
mod linker;
mod looks;
mod meter;
mod outcome;
mod output;
mod queue;
mod reject;
mod run;
mod running;
mod sandbox;
mod settings;
mod state;
mod status;
mod survey;
mod symbols;
mod task;
mod text;
mod thread;
mod threads;
mod ticker;
mod traps;
mod vitals;

pub use attempt::{Answer, Attempt, AttemptHost, Call, JobInfo};
pub use code::{
    Artefact, ArtefactCache, CacheError, CacheStatus, Compiler, CompilerBounds, CompilerError,
    CompilerServeError, Prepared, Toolchain, ToolchainError, serve_compiler,
};
pub use imports::WIT_VERSION;
pub use inspect::{Inspection, inspect};
pub use kill::{KillReason, KillSwitch, Reins};
pub use reject::Reject;
pub use running::Running;
pub use sandbox::Sandbox;
pub use settings::{MAX_SLOTS, MAX_THREADS, Pooling, SandboxSettings};
pub use status::{Allocation, SandboxStatus, StartError, StuckThread};
