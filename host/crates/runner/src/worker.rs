//! A worker: everything above, wired together, from its registration to its drain.

use crate::claim::{Claimer, listen};
use crate::error::chain;
use crate::execute::Executor;
use crate::finish::Finisher;
use crate::heartbeat::Heartbeat;
use crate::inflight::InFlight;
use crate::logs::Buffers;
use crate::maintain::{self, Intervals};
use crate::modules::Modules;
use crate::settings::WorkerSettings;
use cofferdam_core::ids::WorkerId;
use cofferdam_sandbox::KillReason;
use cofferdam_store::{Store, StoreError, WorkerRow};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};
use uuid::Uuid;

/// How often a worker says that it is there.
const REGISTER_INTERVAL: Duration = Duration::from_secs(30);

/// How long a drain waits for the database to take a change of the registration.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a worker is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerStatus {
    /// How many attempts may run at once.
    pub slots: usize,
    /// How many hold a lease now.
    pub occupied: usize,
    /// Whether it takes no more work.
    pub draining: bool,
}

/// A running worker. Dropping it without [`Worker::drain`] is a crash: its leases are rescued.
pub struct Worker {
    id: WorkerId,
    slots: usize,
    inflight: Arc<InFlight>,
    registration: Arc<Registration>,
    /// Claims, sweeps and notifications.
    intake: Stage,
    /// Attempts on their way from the claim to their outcome.
    attempts: TaskTracker,
    /// Heartbeats and logs, which go on until the last attempt has ended.
    support: Stage,
    finisher: tokio::task::JoinHandle<()>,
    /// Cancelled when one of the tasks above ends by a defect of ours.
    broken: CancellationToken,
    /// Cancelled when a drain must not wait any longer.
    hurry: CancellationToken,
}

/// Tasks that stop together.
struct Stage {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Stage {
    fn new() -> Self {
        Self { tasks: TaskTracker::new(), stop: CancellationToken::new() }
    }

    /// Starts a task that must not end before it is told to.
    fn spawn(&self, broken: &CancellationToken, task: impl Future<Output = ()> + Send + 'static) {
        let (stop, broken) = (self.stop.clone(), broken.clone());
        let task = tokio::spawn(task);
        self.tasks.spawn(async move {
            if task.await.is_err() || !stop.is_cancelled() {
                broken.cancel();
            }
        });
    }

    async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Worker {
    /// Registers a new incarnation and starts to work. The settings have been checked.
    pub async fn start(
        settings: WorkerSettings,
        store: Store,
        modules: Modules,
    ) -> Result<Self, StoreError> {
        let id = WorkerId::from_uuid(Uuid::now_v7());
        let inflight = Arc::new(InFlight::new());
        let buffers = Arc::new(Buffers::default());
        let wake = Arc::new(Notify::new());
        let attempts = TaskTracker::new();
        let (outcomes, written) = mpsc::unbounded_channel();

        store.ensure_partitions().await?;
        let registration = Arc::new(Registration {
            store: store.clone(),
            inflight: inflight.clone(),
            row: WorkerRow {
                id,
                hostname: settings.hostname.clone(),
                pid: std::process::id(),
                version: settings.version.clone(),
                slots: settings.slots,
                queues: settings.queues.clone(),
                occupied: 0,
                draining: false,
            },
            draining: CancellationToken::new(),
        });
        registration.upsert().await?;
        let listener = store.listen().await?;

        let (broken, hurry) = (CancellationToken::new(), CancellationToken::new());
        let finisher = Finisher {
            store: store.clone(),
            worker: id,
            inflight: inflight.clone(),
            buffers: buffers.clone(),
            hurry: hurry.clone(),
        };
        let finisher = tokio::spawn(async move { finisher.run(written).await });

        let support = Stage::new();
        let heartbeat = Heartbeat {
            store: store.clone(),
            worker: id,
            inflight: inflight.clone(),
            interval: settings.heartbeat_interval,
            staleness: settings.heartbeat_staleness,
        };
        let stop = support.stop.clone();
        support.spawn(&broken, async move { heartbeat.run(stop).await });
        let (store_of_logs, buffers_of_logs) = (store.clone(), buffers.clone());
        let (interval, stop) = (settings.log_flush_interval, support.stop.clone());
        support.spawn(&broken, async move {
            buffers_of_logs.run(&store_of_logs, interval, stop).await;
        });
        let (registering, stop) = (registration.clone(), support.stop.clone());
        support.spawn(&broken, async move { registering.run(stop).await });

        let intake = Stage::new();
        let intervals = Intervals {
            promote: settings.promote_interval,
            rescue: settings.rescue_interval,
            staleness: settings.heartbeat_staleness,
        };
        maintain::start(&store, &intervals, &wake, &intake.tasks, &intake.stop);
        let listening = listen(listener, inflight.clone(), wake.clone(), intake.stop.clone());
        intake.spawn(&broken, listening);
        let executor = Arc::new(Executor {
            store: store.clone(),
            modules,
            inflight: inflight.clone(),
            buffers,
            caps: settings.caps.clone(),
            outcomes,
        });
        let claimer = Claimer {
            store,
            worker: id,
            queues: settings.queues,
            default_deadline: settings.default_deadline,
            caps: settings.caps,
            poll_interval: settings.poll_interval,
            slots: Arc::new(Semaphore::new(settings.slots)),
            inflight: inflight.clone(),
            executor,
            tasks: attempts.clone(),
            wake,
        };
        let stop = intake.stop.clone();
        intake.spawn(&broken, async move { claimer.run(stop).await });

        info!(worker = %id, slots = settings.slots, "worker started");
        let slots = settings.slots;
        Ok(Self {
            id,
            slots,
            inflight,
            registration,
            intake,
            attempts,
            support,
            finisher,
            broken,
            hurry,
        })
    }

    /// This incarnation's id.
    pub fn id(&self) -> WorkerId {
        self.id
    }

    /// What it is doing.
    pub fn status(&self) -> WorkerStatus {
        WorkerStatus {
            slots: self.slots,
            occupied: self.inflight.len(),
            draining: self.registration.draining.is_cancelled(),
        }
    }

    /// Resolves when a task that the worker cannot do without has ended by a defect of ours. The
    /// worker should be drained and its process end: another one takes over.
    pub async fn broken(&self) {
        self.broken.cancelled().await;
    }

    /// Takes no more work, waits up to `grace` (or until `hurry`) for what runs, gives the rest
    /// back without burning an attempt, writes every outcome and says goodbye.
    pub async fn drain(self, grace: Duration, hurry: CancellationToken) {
        let running = self.inflight.len();
        info!(worker = %self.id, running, "draining");
        self.registration.draining.cancel();
        let hurried = self.hurry.clone();
        let watcher = tokio::spawn(async move {
            hurry.cancelled().await;
            hurried.cancel();
        });
        self.intake.stop().await;
        self.registration.tell(self.registration.upsert()).await;

        tokio::select! {
            () = self.inflight.empty() => {}
            () = tokio::time::sleep(grace) => {}
            () = self.hurry.cancelled() => {}
        }
        self.inflight.kill_all(KillReason::Shutdown);
        self.attempts.close();
        self.attempts.wait().await;
        // The last sender of outcomes went with the claimer and the attempts, so the writer ends
        // once everything is written or given up.
        if let Err(error) = self.finisher.await {
            warn!(error = chain(&error), "the writer of outcomes stopped early");
        }
        self.support.stop().await;
        watcher.abort();
        self.registration.goodbye().await;
        info!(worker = %self.id, "worker stopped");
    }
}

/// The worker's row in the registry.
struct Registration {
    store: Store,
    inflight: Arc<InFlight>,
    row: WorkerRow,
    draining: CancellationToken,
}

impl Registration {
    async fn upsert(&self) -> Result<(), StoreError> {
        let row = WorkerRow {
            occupied: self.inflight.len(),
            draining: self.draining.is_cancelled(),
            ..self.row.clone()
        };
        self.store.register_worker(&row).await
    }

    async fn run(&self, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(REGISTER_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick comes at once, and the row was written just before.
        ticks.tick().await;
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            if let Err(error) = self.upsert().await {
                warn!(error = chain(&error), "could not renew the registration");
            }
        }
    }

    async fn goodbye(&self) {
        self.tell(self.store.remove_worker(self.row.id)).await;
    }

    /// Tells the database something that a drain does not wait for long.
    async fn tell(&self, what: impl Future<Output = Result<(), StoreError>>) {
        match tokio::time::timeout(PATIENCE, what).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!(error = chain(&error), "could not change the registration"),
            Err(_) => warn!("the database did not take the registration in time"),
        }
    }
}
