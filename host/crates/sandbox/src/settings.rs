//! What whoever starts a sandbox decides.

use cofferdam_core::limits::Limits;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;
use std::time::Duration;

/// How often the epoch advances while a guest runs. A guest notices a kill at the next tick, so
/// this is the resolution of every kill; ticks themselves cost nothing measurable.
const DEFAULT_TICK: Duration = Duration::from_millis(1);

/// Slots for each guest thread by default. Most jobs wait for something most of the time.
const SLOTS_PER_THREAD: usize = 16;

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
    pub slots: usize,
    /// Threads that guests run on. At least one is started.
    pub threads: usize,
    /// How often the epoch advances while a guest runs.
    pub tick: Duration,
    /// Where memories come from.
    pub pooling: Pooling,
    /// The largest linear memory of an attempt, in bytes, whatever its own limit says.
    pub max_memory_bytes: u64,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        let threads = available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            slots: threads * SLOTS_PER_THREAD,
            threads,
            tick: DEFAULT_TICK,
            pooling: Pooling::default(),
            max_memory_bytes: Limits::caps().memory_bytes,
        }
    }
}
