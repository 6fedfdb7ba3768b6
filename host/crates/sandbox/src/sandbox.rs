//! The sandbox as the rest of the host sees it.

use crate::attempt::Attempt;
use crate::code::{self, Artefact, Fingerprint, Prepared};
use crate::inspect::Inspection;
use crate::kill::KillSwitch;
use crate::reject::Reject;
use crate::running::Running;
use crate::settings::SandboxSettings;
use crate::state::State;
use crate::status::{Allocation, SandboxStatus, StartError, StuckThread};
use crate::task::{GuestFuture, Launch, Value};
use crate::threads::Threads;
use crate::ticker::Ticker;
use crate::vitals::Vitals;
use crate::{describe, engine, inspect, linker, run};
use cofferdam_core::class::FailureClass;
use cofferdam_core::module::{KindInfo, World};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};
use wasmtime::Engine;
use wasmtime::component::Linker;

/// An engine, its ticker and its guest threads. Copies are the same sandbox; when the last one
/// is dropped, attempts that still run end as `released`.
#[derive(Clone)]
pub struct Sandbox(Arc<Inner>);

struct Inner {
    engine: Engine,
    /// What artefacts must be made for.
    fingerprint: Fingerprint,
    linker: Linker<State>,
    settings: SandboxSettings,
    allocation: Allocation,
    pagemap_scan: bool,
    threads: Threads,
    /// One permit for each component that may describe itself now.
    describing: Arc<Semaphore>,
    io: Handle,
}

impl Sandbox {
    /// Starts the ticker and the guest threads. Timers of guests are driven by `io`, which should
    /// be a runtime that guests cannot starve.
    ///
    /// # Errors
    ///
    /// When the settings are out of bounds, or this machine cannot do what they ask for.
    pub fn start(settings: SandboxSettings, io: Handle) -> Result<Self, StartError> {
        settings.check()?;
        let built = engine::build(&settings)?;
        let linker =
            linker::linker(&built.engine).map_err(|error| StartError::Linker(error.into()))?;
        let ticker =
            Ticker::start(built.engine.weak(), settings.tick).map_err(StartError::Thread)?;
        let threads = Threads::start(settings.threads, ticker, io.clone())?;
        Ok(Self(Arc::new(Inner {
            fingerprint: Fingerprint::of(&built.engine),
            engine: built.engine,
            linker,
            allocation: built.allocation,
            pagemap_scan: built.pagemap_scan,
            threads,
            describing: Arc::new(Semaphore::new(engine::SPARE_SLOTS)),
            settings,
            io,
        })))
    }

    /// What it was started with.
    pub fn settings(&self) -> &SandboxSettings {
        &self.0.settings
    }

    /// What the sandbox is doing.
    pub fn status(&self) -> SandboxStatus {
        let counts = self.0.threads.counts();
        SandboxStatus {
            allocation: self.0.allocation.clone(),
            pagemap_scan: self.0.pagemap_scan,
            slots: self.0.settings.slots,
            threads: counts.serving,
            tick: self.0.settings.tick,
            running: counts.attempts,
            runnable: counts.runnable,
            longest_turn: counts.longest_turn,
            leaked_threads: counts.leaked,
            leaked_attempts: counts.leaked_attempts,
        }
    }

    /// The guest threads that have been inside one turn for `past` or longer, without those that
    /// were replaced. A turn is over within a tick, a large bulk memory instruction takes up to a
    /// second: whoever asks for several seconds finds host code that blocks.
    pub fn stuck(&self, past: Duration) -> Vec<StuckThread> {
        self.0.threads.stuck(past)
    }

    /// Gives up a thread that [`Sandbox::stuck`] found, by its [`StuckThread::thread`]: another takes its place, and new
    /// attempts go there. The attempts on the thread stay, hold what they hold, and have no
    /// effects any more; should it ever come out of its turn, they end as `lost` and it ends.
    ///
    /// Answers whether it was replaced: not when it has come out of that turn meanwhile, nor when
    /// it was replaced before.
    ///
    /// # Errors
    ///
    /// When no thread could be started, or [`MAX_THREADS`](crate::MAX_THREADS) have been given
    /// up. Then the stuck one stays where it is, and new attempts avoid it while they can.
    pub fn replace(&self, thread: usize) -> Result<bool, StartError> {
        self.0.threads.replace(thread)
    }

    /// Looks at an upload: see [`inspect`](crate::inspect()).
    pub fn inspect(&self, bytes: &[u8]) -> Result<Inspection, Reject> {
        inspect::inspect(bytes)
    }

    /// Loads a compiled component and resolves its imports. Takes milliseconds on large components:
    /// call it on a thread that may block.
    ///
    /// # Errors
    ///
    /// When no attempt could ever start: the component needs more than there is, or imports what
    /// this host has not.
    pub fn load(&self, artefact: &Artefact) -> Result<Prepared, Reject> {
        let Inner { engine, fingerprint, linker, settings, .. } = &*self.0;
        if artefact.fingerprint() != fingerprint {
            return Err(Reject::Compile("it was compiled for another engine".into()));
        }
        code::load(engine, linker, settings.max_memory_bytes, artefact)
    }

    /// Compiles a component in this process, and loads it: see [`Artefact::compile`].
    pub fn compile(&self, component: &[u8]) -> Result<Prepared, Reject> {
        self.load(&Artefact::compile(component)?)
    }

    pub(crate) fn fingerprint(&self) -> &Fingerprint {
        &self.0.fingerprint
    }

    /// Starts a component once, within a small budget, and asks which kinds it handles. A command
    /// is only started, and has the one kind `run`. Waits while as many others are asked as there
    /// is room for beside the jobs.
    ///
    /// # Errors
    ///
    /// [`Reject::Busy`] when the component is not at fault and may be asked again; otherwise what
    /// is wrong with it.
    pub async fn describe(&self, prepared: &Prepared) -> Result<Vec<KindInfo>, Reject> {
        // Nobody closes the semaphore; were it closed, there would be no limit to wait for.
        let permit = Arc::clone(&self.0.describing).acquire_owned().await.ok();
        let running = self.launch(prepared, describe::attempt(), |prepared, attempt, vitals| {
            Box::pin(async move {
                // Given back with the slot, also when nobody waits for the answer any more.
                let _permit = permit;
                run::describe(prepared, attempt, vitals).await
            })
        });
        match (running.result().await.0, prepared.world()) {
            // Given back, or on a thread that was lost.
            (Err(failure), _)
                if matches!(failure.class, FailureClass::Released | FailureClass::Lost) =>
            {
                Err(Reject::Busy(failure))
            }
            (Err(failure), _) => Err(Reject::Describe(failure)),
            (Ok(_), World::Command) => Ok(vec![describe::command_kind()]),
            (Ok(Value::Kinds(kinds)), World::Handler) => describe::kinds(&kinds),
            (Ok(Value::Output(_)), World::Handler) => Err(Reject::NoKinds),
        }
    }

    /// Puts an attempt on the guest thread that has the fewest. Never waits for a guest; attempts past the
    /// number of slots end as `released` where there is a pool.
    pub fn run(&self, prepared: &Prepared, attempt: Attempt) -> Running {
        self.launch(prepared, attempt, |prepared, attempt, vitals| {
            Box::pin(run::attempt(prepared, attempt, vitals))
        })
    }

    fn launch(
        &self,
        prepared: &Prepared,
        attempt: Attempt,
        call: impl FnOnce(Prepared, Attempt, Arc<Vitals>) -> GuestFuture + Send + 'static,
    ) -> Running {
        let (done, report) = oneshot::channel();
        let symbols = Arc::clone(prepared.symbols());
        let prepared = prepared.clone();
        let kill = self.0.threads.launch(|inbox| {
            let id = inbox.reserve();
            let kill = KillSwitch::new(Arc::clone(inbox), id, attempt.lease_until);
            let vitals = Arc::new(Vitals::new(
                kill.clone(),
                Arc::clone(&attempt.host),
                attempt.limits.clone(),
                attempt.deadline,
            ));
            let theirs = Arc::clone(&vitals);
            let begin = Box::new(move || call(prepared, attempt, theirs));
            inbox.launch(Launch { id, begin, vitals, done });
            kill
        });
        Running::new(kill, report, symbols, self.0.io.clone())
    }
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Sandbox").field(&self.status()).finish()
    }
}
