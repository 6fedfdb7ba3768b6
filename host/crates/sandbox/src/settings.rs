//! What whoever starts a sandbox decides.

use crate::status::StartError;
use cofferdam_core::limits::Limits;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;
use std::time::Duration;

/// How often the epoch advances while a guest runs. A guest notices a kill at the next tick, so
/// this is the resolution of every kill; ticks themselves cost nothing measurable.
const DEFAULT_TICK: Duration = Duration::from_millis(1);

/// Slots for each guest thread by default. Most jobs wait for something most of the time.
const SLOTS_PER_THREAD: usize = 16;

/// The most slots of a sandbox. Each reserves eight gigabytes of address space, of which a process
/// has 128 terabytes: stops a number that no pool can be reserved for.
pub const MAX_SLOTS: usize = 4_096;

/// The most threads that guests run on. Stops a number that the machine could not start.
pub const MAX_THREADS: usize = 256;

/// Whether memories, tables and stacks come from a pool that is reserved at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pooling {
    /// From a pool where the address space allows it, otherwise mapped for each attempt.
    #[default]
    Auto,
    /// Mapped for each attempt: four to five times the cost of a pooled start.
    Off,
    /// From a pool; starting fails where that is impossible.
    Required,
}

/// The settings of a [`Sandbox`](crate::Sandbox).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSettings {
    /// The most attempts that run at once; sizes the pool. Attempts past it end as `released`.
    /// At most [`MAX_SLOTS`].
    pub slots: usize,
    /// Threads that guests run on. At least one is started, and at most [`MAX_THREADS`].
    pub threads: usize,
    /// How often the epoch advances while a guest runs.
    pub tick: Duration,
    /// Where memories come from.
    pub pooling: Pooling,
    /// The largest linear memory of an attempt, in bytes, whatever its own limit says.
    pub max_memory_bytes: u64,
}

impl SandboxSettings {
    /// Refuses numbers past their bounds.
    pub(crate) fn check(&self) -> Result<(), StartError> {
        if self.slots > MAX_SLOTS {
            return Err(StartError::TooManySlots { slots: self.slots });
        }
        if self.threads > MAX_THREADS {
            return Err(StartError::TooManyThreads { threads: self.threads });
        }
        Ok(())
    }
}

impl Default for SandboxSettings {
    fn default() -> Self {
        let threads = available_parallelism().map_or(1, NonZeroUsize::get).min(MAX_THREADS);
        Self {
            slots: (threads * SLOTS_PER_THREAD).min(MAX_SLOTS),
            threads,
            tick: DEFAULT_TICK,
            pooling: Pooling::default(),
            max_memory_bytes: Limits::caps().memory_bytes,
        }
    }
}
