//! What an operator may want to know about a sandbox.

use crate::settings::{MAX_SLOTS, MAX_THREADS};
use std::time::Duration;

/// Where memories, tables and stacks come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// From a pool that was reserved at the start.
    Pool,
    /// Mapped for each attempt.
    OnDemand {
        /// Why there is no pool.
        reason: String,
    },
}

/// The state of a [`Sandbox`](crate::Sandbox) at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxStatus {
    /// Where memories come from.
    pub allocation: Allocation,
    /// Whether the kernel can tell which pages a guest touched (Linux 6.7 or later), so that
    /// only those are cleared between attempts.
    pub pagemap_scan: bool,
    /// The most attempts that run at once.
    pub slots: usize,
    /// Threads that guests run on, without the leaked ones.
    pub threads: usize,
    /// How often the epoch advances while a guest runs.
    pub tick: Duration,
    /// Attempts that were started and have not ended, the leaked ones included.
    pub running: usize,
    /// Those of them that wait for a turn on their thread, rather than for a host call.
    pub runnable: usize,
    /// How long the thread that is longest inside one turn has been there. A turn ends at the
    /// next tick, except in a bulk memory instruction or in host code that blocks: more than a
    /// second points at the latter.
    pub longest_turn: Duration,
    /// Threads that were replaced because they did not come out of a call, and still have not.
    pub leaked_threads: usize,
    /// Attempts that are on those threads, and hold what they held.
    pub leaked_attempts: usize,
}

/// A guest thread that does not come out of its turn. Guests cannot do that, other than with a
/// bulk memory instruction: it is host code that blocks, and nothing can interrupt it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckThread {
    /// The thread's number, never used again. The thread is called `guest-` and this number.
    pub thread: usize,
    /// How long it has been inside its turn.
    pub since: Duration,
    /// Attempts that are on it: the one that holds it up and those that wait for a turn.
    pub attempts: usize,
    /// The host call that it is in, where that is one of ours.
    pub host_call: Option<String>,
}

/// Why a sandbox did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There are to be more slots than a pool can have.
    #[error("a sandbox of {slots} slots is too large: at most {MAX_SLOTS} are possible")]
    TooManySlots {
        /// How many there were to be.
        slots: usize,
    },
    /// There are to be more guest threads than are useful.
    #[error("{threads} guest threads are too many: at most {MAX_THREADS} are possible")]
    TooManyThreads {
        /// How many there were to be.
        threads: usize,
    },
    /// The engine refused its configuration: this machine cannot run compiled guests.
    #[error("cannot set up the WebAssembly engine")]
    Engine(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The pool was required and could not be reserved.
    #[error("cannot reserve the pool of guest memories")]
    Pool(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The host interfaces could not be defined.
    #[error("cannot define the host interfaces")]
    Linker(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A thread could not be started.
    #[error("cannot start a sandbox thread")]
    Thread(#[source] std::io::Error),
}

impl cofferdam_core::hint::Hint for StartError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::TooManySlots { .. } => {
                Some("use fewer slots, or spread them over several workers".to_owned())
            }
            Self::TooManyThreads { .. } => {
                Some("one guest thread for each processor is enough".to_owned())
            }
            Self::Pool(_) => Some(
                "give the process more address space (ulimit -v), use fewer slots, or set pooling to auto"
                    .to_owned(),
            ),
            Self::Thread(_) => Some("raise the limit on threads (ulimit -u)".to_owned()),
            Self::Engine(_) | Self::Linker(_) => None,
        }
    }
}
