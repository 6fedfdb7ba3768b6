//! The clock of the guests: a plain thread that advances the engine's epoch.
//!
//! It belongs to no runtime, so that nothing a guest or a host call does can hold it up. It rests
//! while no guest runs.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;
use wasmtime::EngineWeak;

/// Idle ticks before the ticker rests: waking it costs more than a few ticks too many.
const LINGER: u32 = 20;

/// A running ticker. It ends when it is dropped, or when the engine is.
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Thread,
}

struct Shared {
    /// Guest threads that have something to run.
    busy: AtomicUsize,
    resting: AtomicBool,
    stopped: AtomicBool,
}

impl Ticker {
    /// Starts the thread.
    pub(crate) fn start(engine: EngineWeak, tick: Duration) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            busy: AtomicUsize::new(0),
            resting: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
        });
        let theirs = Arc::clone(&shared);
        let handle = thread::Builder::new()
            .name("guest-ticker".to_owned())
            .spawn(move || theirs.run(&engine, tick))?;
        Ok(Self { thread: handle.thread().clone(), shared })
    }

    /// A guest thread has something to run.
    pub(crate) fn busy(&self) {
        self.shared.busy.fetch_add(1, Ordering::SeqCst);
        if self.shared.resting.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
    }

    /// It has not any more.
    pub(crate) fn idle(&self) {
        self.shared.busy.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

impl Shared {
    fn run(&self, engine: &EngineWeak, tick: Duration) {
        let mut quiet = 0;
        while !self.stopped.load(Ordering::SeqCst) {
            quiet = if self.busy.load(Ordering::SeqCst) == 0 { quiet + 1 } else { 0 };
            if quiet > LINGER {
                self.rest();
                quiet = 0;
                continue;
            }
            thread::sleep(tick);
            let Some(engine) = engine.upgrade() else { return };
            engine.increment_epoch();
        }
    }

    /// Waits until a guest thread is busy. Whoever becomes busy after the second look sees that
    /// the ticker rests and wakes it; an early wake is remembered by `park`.
    fn rest(&self) {
        self.resting.store(true, Ordering::SeqCst);
        if self.busy.load(Ordering::SeqCst) == 0 && !self.stopped.load(Ordering::SeqCst) {
            thread::park();
        }
        self.resting.store(false, Ordering::SeqCst);
    }
}
