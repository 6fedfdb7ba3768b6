//! Watches over what nothing else can interrupt: host code that blocks a guest thread, and a
//! control runtime that has stopped to run its tasks.
//!
//! It is a plain thread outside all runtimes. It acts first and tells afterwards, because telling
//! may block as well: on a terminal that nobody reads, for instance.

use crate::error::chain;
use cofferdam_core::units::format_duration;
use cofferdam_sandbox::{Sandbox, StuckThread};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

/// Looks within one stall limit, and beats of the pulse as well.
const LOOKS: u32 = 10;

/// A watchdog whose look comes later than this many looks was not scheduled itself, and neither
/// were those it watches: the process was stopped, or the machine.
const LATE: u32 = 3;

/// What is not late however short the looks are: a busy machine has every thread wait as long.
const NOT_LATE: Duration = Duration::from_millis(100);

/// How a watchdog works.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchdogSettings {
    /// How long a guest thread may be inside one turn, and the control runtime without a beat.
    pub(crate) stall_limit: Duration,
    /// How many guest threads may be lost before the worker is to stop.
    pub(crate) max_leaked: usize,
    /// Ends the process, which has no other way to go on. Called with the reason, on the
    /// watchdog's thread. It must not count on anything else that runs.
    pub(crate) give_up: Option<fn(&str)>,
}

/// A running watchdog. Dropping it stops its thread.
#[derive(Debug)]
pub(crate) struct Watchdog {
    pulse: Arc<Pulse>,
    interval: Duration,
    /// Nothing is ever sent: the thread hears that this is gone.
    _stop: Sender<()>,
}

impl Watchdog {
    /// Starts the thread. `leaked` is cancelled once more guest threads are lost than may be.
    ///
    /// # Errors
    ///
    /// When the thread cannot be started.
    pub(crate) fn start(
        settings: WatchdogSettings,
        sandbox: Sandbox,
        leaked: CancellationToken,
    ) -> io::Result<Self> {
        let interval = (settings.stall_limit / LOOKS).max(Duration::from_millis(1));
        let pulse = Arc::new(Pulse::new());
        let (stop, stopped) = channel();
        let now = Instant::now();
        let watch = Watch {
            settings,
            interval,
            sandbox,
            leaked,
            pulse: Arc::clone(&pulse),
            looked: now,
            awake_since: now,
            given_up: false,
        };
        thread::Builder::new().name("watchdog".to_owned()).spawn(move || watch.run(&stopped))?;
        Ok(Self { pulse, interval, _stop: stop })
    }

    /// The task that shows that the control runtime runs its tasks: to be spawned there, at once.
    /// The watchdog listens to it from now on until the task is dropped.
    pub(crate) fn pulse(&self) -> impl Future<Output = ()> + Send + 'static {
        self.pulse.beat();
        let beating = Beating(Arc::clone(&self.pulse));
        let every = self.interval;
        async move {
            let mut ticks = tokio::time::interval(every);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                beating.0.beat();
            }
        }
    }
}

/// When the control runtime last ran the task that beats.
#[derive(Debug)]
struct Pulse {
    start: Instant,
    /// In nanoseconds after `start`; 0 while nothing is to beat.
    last: AtomicU64,
}

impl Pulse {
    fn new() -> Self {
        Self { start: Instant::now(), last: AtomicU64::new(0) }
    }

    fn beat(&self) {
        let nanos = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.last.store(nanos.max(1), Ordering::Relaxed);
    }

    fn rest(&self) {
        self.last.store(0, Ordering::Relaxed);
    }

    /// How long it has been silent at `now`, if it is to beat at all.
    fn silence(&self, now: Instant) -> Option<Duration> {
        let last = self.last.load(Ordering::Relaxed);
        let age = now.saturating_duration_since(self.start);
        (last > 0).then(|| age.saturating_sub(Duration::from_nanos(last)))
    }
}

/// Somebody makes the pulse beat as long as this lives.
struct Beating(Arc<Pulse>);

impl Drop for Beating {
    fn drop(&mut self) {
        // A task that ends in peace is no stalled runtime.
        self.0.rest();
    }
}

/// The watchdog on its thread.
struct Watch {
    settings: WatchdogSettings,
    interval: Duration,
    sandbox: Sandbox,
    leaked: CancellationToken,
    pulse: Arc<Pulse>,
    /// When it last looked.
    looked: Instant,
    /// Since when it has been scheduled as it should be.
    awake_since: Instant,
    /// Whether the present silence of the control runtime has been acted on.
    given_up: bool,
}

impl Watch {
    fn run(mut self, stopped: &Receiver<()>) {
        while stopped.recv_timeout(self.interval) == Err(RecvTimeoutError::Timeout) {
            self.look(Instant::now());
        }
    }

    fn look(&mut self, now: Instant) {
        let since = now.saturating_duration_since(self.looked);
        self.looked = now;
        if since > (self.interval * LATE).max(NOT_LATE) {
            // Whatever seems to have stood still did so because everything did.
            self.awake_since = now;
        }
        if now.saturating_duration_since(self.awake_since) < self.settings.stall_limit {
            return;
        }
        // The runtime first: without it nobody drains what the threads have lost.
        self.mind_runtime(now);
        self.mind_threads();
    }

    fn mind_runtime(&mut self, now: Instant) {
        let limit = self.settings.stall_limit;
        let Some(silence) = self.pulse.silence(now).filter(|silence| *silence >= limit) else {
            self.given_up = false;
            return;
        };
        if self.given_up {
            return;
        }
        self.given_up = true;
        let reason = format!(
            "the control runtime has run no task for {}: something blocks its threads",
            format_duration(Duration::from_secs(silence.as_secs().max(1)))
        );
        // It says why on its own: this process may not be able to log any more.
        if let Some(give_up) = self.settings.give_up {
            give_up(&reason);
        } else {
            error!(reason, "the worker cannot go on");
        }
    }

    fn mind_threads(&self) {
        let stuck = self.sandbox.stuck(self.settings.stall_limit);
        let replaced: Vec<_> =
            stuck.into_iter().map(|stuck| (self.sandbox.replace(stuck.thread), stuck)).collect();
        let leaked = self.sandbox.status().leaked_threads;
        let too_many = leaked > self.settings.max_leaked && !self.leaked.is_cancelled();
        if too_many {
            self.leaked.cancel();
        }
        for (replaced, StuckThread { thread, since, attempts, host_call }) in replaced {
            let host_call = host_call.as_deref().unwrap_or("unknown");
            let seconds = since.as_secs();
            match replaced {
                Ok(true) => error!(
                    thread,
                    host_call,
                    attempts,
                    seconds,
                    leaked,
                    "a guest thread does not come out of a host call: another takes its place"
                ),
                // It has come out meanwhile.
                Ok(false) => {
                    warn!(thread, host_call, seconds, "a host call blocked a guest thread");
                }
                Err(error) => error!(
                    thread,
                    host_call,
                    attempts,
                    seconds,
                    error = chain(&error),
                    "a guest thread does not come out of a host call and cannot be replaced"
                ),
            }
        }
        if too_many {
            let max = self.settings.max_leaked;
            error!(leaked, max, "too many guest threads are lost: the worker is to stop");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;
    use cofferdam_core::class::FailureClass;
    use cofferdam_core::limits::Limits;
    use cofferdam_core::log::LogLine;
    use cofferdam_core::outcome::End;
    use cofferdam_sandbox::{Attempt, AttemptHost, JobInfo, SandboxSettings};
    use cofferdam_testkit::{component, wait_for};
    use std::sync::Mutex;
    use std::sync::atomic::AtomicUsize;
    use tokio::runtime::{Builder, Handle};

    /// Longer than anything here should take on a machine that does much else.
    const PATIENCE: Duration = Duration::from_mins(1);

    const SECOND: Duration = Duration::from_secs(1);

    /// A sandbox with one guest thread.
    fn sandbox() -> Sandbox {
        let settings = SandboxSettings { threads: 1, slots: 4, ..SandboxSettings::default() };
        Sandbox::start(settings, Handle::current()).unwrap()
    }

    /// A watchdog that looks when the test says so.
    fn watch(give_up: fn(&str)) -> Watch {
        let now = Instant::now();
        Watch {
            settings: WatchdogSettings {
                stall_limit: 10 * SECOND,
                max_leaked: 0,
                give_up: Some(give_up),
            },
            interval: SECOND,
            sandbox: sandbox(),
            leaked: CancellationToken::new(),
            pulse: Arc::new(Pulse::new()),
            looked: now,
            awake_since: now,
            given_up: false,
        }
    }

    #[test]
    fn a_runtime_that_runs_no_task_ends_its_process() {
        static REASONS: Mutex<Vec<String>> = Mutex::new(Vec::new());
        // Given a control runtime with one thread, and a watchdog that listens to its pulse,
        let others = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let control = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let sandbox = others.block_on(async { sandbox() });
        let settings = WatchdogSettings {
            stall_limit: Duration::from_millis(500),
            max_leaked: 0,
            give_up: Some(|reason| REASONS.lock().unwrap().push(reason.to_owned())),
        };
        let watchdog = Watchdog::start(settings, sandbox, CancellationToken::new()).unwrap();
        control.spawn(watchdog.pulse());
        // when a task blocks that thread for good,
        let (open, gate) = channel::<()>();
        let blocker = control.spawn(async move { gate.recv() });
        // then the watchdog gives up from its own thread, for no other runs.
        let reason = others.block_on(wait_for("the watchdog", PATIENCE, async || {
            REASONS.lock().unwrap().first().cloned().ok_or("nobody gave up".to_owned())
        }));
        assert!(reason.contains("the control runtime has run no task for"), "{reason}");
        drop(open);
        assert!(others.block_on(blocker).unwrap().is_err());
    }

    #[tokio::test]
    async fn a_process_that_was_stopped_is_not_a_stalled_runtime() {
        static GIVEN_UP: AtomicUsize = AtomicUsize::new(0);
        let given_up = || GIVEN_UP.load(Ordering::SeqCst);
        // Given a pulse that beat when the watchdog last looked,
        let mut watch = watch(|_| {
            GIVEN_UP.fetch_add(1, Ordering::SeqCst);
        });
        watch.pulse.beat();
        let start = Instant::now();
        for second in 1..9 {
            watch.look(start + second * SECOND);
        }
        // when the whole process stands still for a minute and goes on, then the silence of that
        // minute counts for nothing,
        let back = start + 69 * SECOND;
        for second in 0..10 {
            watch.look(back + second * SECOND);
            assert_eq!(given_up(), 0, "{second}");
        }
        // but one that lasts from then on does, once.
        for second in 10..20 {
            watch.look(back + second * SECOND);
            assert_eq!(given_up(), 1, "{second}");
        }
    }

    #[tokio::test]
    async fn a_pulse_that_was_let_go_is_not_missed() {
        // Given a runtime that was told to end its tasks, the pulse among them,
        let settings = WatchdogSettings { stall_limit: PATIENCE, max_leaked: 0, give_up: None };
        let watchdog = Watchdog::start(settings, sandbox(), CancellationToken::new()).unwrap();
        let later = Instant::now() + 10 * PATIENCE;
        assert_eq!(watchdog.pulse.silence(later), None);
        let pulse = watchdog.pulse();
        assert!(watchdog.pulse.silence(later).is_some());
        drop(pulse);
        // then its silence is no news.
        assert_eq!(watchdog.pulse.silence(later), None);
    }

    /// A host whose log blocks until the test lets go.
    struct Blocking(Mutex<Option<Receiver<()>>>);

    #[async_trait]
    impl AttemptHost for Blocking {
        fn log(&self, _line: LogLine) {
            let gate = self.0.lock().unwrap().take();
            if let Some(gate) = gate {
                // The error is that the test lets go.
                let _ = gate.recv();
            }
        }
        fn progress(&self, _percent: u8, _note: String) {}
        async fn checkpoint(&self, _bytes: Vec<u8>) -> Result<(), String> {
            Ok(())
        }
        async fn extend_deadline(&self, by: Duration) -> Result<Duration, String> {
            Ok(by)
        }
    }

    fn attempt(kind: &str, input: &str, gate: Option<Receiver<()>>) -> Attempt {
        Attempt {
            info: JobInfo { kind: kind.to_owned(), ..JobInfo::default() },
            input: input.as_bytes().to_vec(),
            args: Vec::new(),
            env: Vec::new(),
            limits: Limits::default(),
            deadline: Instant::now() + PATIENCE,
            lease_until: Some(Instant::now() + PATIENCE),
            last_checkpoint: None,
            resumed: None,
            host: Arc::new(Blocking(Mutex::new(gate))),
        }
    }

    /// S7, S91: a host function that never returns costs a thread, which is counted and replaced;
    /// when too many are lost, the worker is told to stop.
    #[tokio::test]
    async fn a_guest_thread_that_is_lost_is_replaced_and_counted() {
        // Given a worker that may lose no thread, and a guest whose word of log blocks its own,
        let sandbox = sandbox();
        let leaked = CancellationToken::new();
        let settings = WatchdogSettings {
            stall_limit: Duration::from_millis(500),
            max_leaked: 0,
            give_up: None,
        };
        let _watchdog = Watchdog::start(settings, sandbox.clone(), leaked.clone()).unwrap();
        let misbehave = sandbox.compile(&component("misbehave")).unwrap();
        let (open, gate) = channel();
        let lost = sandbox.run(&misbehave, attempt("panic", "null", Some(gate)));

        // when that has lasted too long, then the worker is told,
        tokio::time::timeout(PATIENCE, leaked.cancelled()).await.unwrap();
        assert_eq!(sandbox.status().leaked_threads, 1);
        // and another thread does the work of the one that was lost.
        let echo = sandbox.run(&misbehave, attempt("echo", "7", None));
        let outcome = tokio::time::timeout(PATIENCE, echo.outcome()).await.unwrap();
        assert!(matches!(outcome.end, End::Completed(_)), "{outcome:?}");

        // When the call returns after all, then nothing is counted any more.
        drop(open);
        let outcome = tokio::time::timeout(PATIENCE, lost.outcome()).await.unwrap();
        let End::Failed(failure) = outcome.end else { panic!("{outcome:?}") };
        assert_eq!(failure.class, FailureClass::Lost);
        wait_for("the thread to end", PATIENCE, async || match sandbox.status().leaked_threads {
            0 => Ok(()),
            leaked => Err(format!("{leaked} are leaked")),
        })
        .await;
    }
}
