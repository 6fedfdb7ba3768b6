//! A worker: everything above, wired together, from its registration to its drain.

use crate::alone::Alone;
use crate::claim::{Claimer, listen};
use crate::error::chain;
use crate::execute::Executor;
use crate::finish::Finisher;
use crate::heartbeat::Heartbeat;
use crate::inflight::InFlight;
use crate::logs::Buffers;
use crate::maintain::{self, Leader, Leading, Tallies};
use crate::modules::Modules;
use crate::presence::{Keeper, Present, Registration};
use crate::settings::WorkerSettings;
use crate::stage::Stage;
use crate::stop::{Stop, StopReason};
use crate::watchdog::{Watchdog, WatchdogSettings};
use cofferdam_core::ids::WorkerId;
use cofferdam_sandbox::{KillReason, Sandbox};
use cofferdam_store::{Store, StoreError, WorkerRow};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};
use uuid::Uuid;

/// How long a drain waits for the database to take the worker out of the registry.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a worker does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The database did not take it in.
    #[error("the worker could not register")]
    Store(#[from] StoreError),
    /// There is no thread for the watchdog.
    #[error("the watchdog's thread could not be started")]
    Watchdog(#[source] std::io::Error),
}

/// What a worker is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerStatus {
    /// How many attempts may run at once.
    pub slots: usize,
    /// How many hold a lease now.
    pub occupied: usize,
    /// How many of them have ended, with outcomes that wait to be written.
    pub unwritten: usize,
    /// How many attempts cannot be ended, because their threads do not come out of a call.
    pub leaked: usize,
    /// Whether it takes no more work.
    pub draining: bool,
    /// Whether it runs the sweeps.
    pub leading: bool,
}

/// A running worker. Dropping it without [`Worker::drain`] is a crash: its leases are rescued.
pub struct Worker {
    id: WorkerId,
    slots: usize,
    store: Store,
    sandbox: Sandbox,
    inflight: Arc<InFlight>,
    leading: Leading,
    orders: Stop,
    draining: CancellationToken,
    /// Tells the registry at once that something changed.
    changed: Arc<Notify>,
    /// Claims, sweeps and notifications.
    intake: Stage,
    /// Attempts on their way from the claim to their outcome.
    attempts: TaskTracker,
    /// Heartbeats, presence and logs, which go on until the last attempt has ended.
    support: Stage,
    finisher: tokio::task::JoinHandle<()>,
    watchdog: Watchdog,
    /// Cancelled when a drain must not wait any longer.
    hurry: CancellationToken,
}

impl Worker {
    /// Registers a new incarnation and starts to work. The settings have been checked.
    #[expect(clippy::too_many_lines, reason = "the wiring of all parts, in the order of the data")]
    pub async fn start(
        settings: WorkerSettings,
        store: Store,
        modules: Modules,
    ) -> Result<Self, StartError> {
        let id = WorkerId::from_uuid(Uuid::now_v7());
        let sandbox = modules.sandbox().clone();
        let inflight = Arc::new(InFlight::new(settings.lease_bound()));
        let buffers = Arc::new(Buffers::default());
        let (wake, changed) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (orders, leading, present) = (Stop::new(), Leading::new(), Present::new());
        let (draining, hurry) = (CancellationToken::new(), CancellationToken::new());
        let attempts = TaskTracker::new();
        let (outcomes, written) = mpsc::unbounded_channel();
        let (intake, support) = (Stage::new(&orders), Stage::new(&orders));

        store.ensure_partitions().await?;
        let registration = Registration {
            row: row(id, &settings),
            inflight: inflight.clone(),
            sandbox: sandbox.clone(),
            draining: draining.clone(),
        };
        let session = registration.begin(&store).await?;
        let listener = store.listen().await?;
        let leaked = CancellationToken::new();
        let watching = WatchdogSettings {
            stall_limit: settings.stall_limit,
            max_leaked: settings.max_leaked,
            give_up: settings.give_up,
        };
        let watchdog = Watchdog::start(watching, sandbox.clone(), leaked.clone())
            .map_err(StartError::Watchdog)?;

        let finisher = Finisher {
            store: store.clone(),
            worker: id,
            inflight: inflight.clone(),
            buffers: buffers.clone(),
            hurry: hurry.clone(),
        };
        let finisher = tokio::spawn(async move { finisher.run(written).await });

        let heartbeat = Heartbeat {
            store: store.clone(),
            worker: id,
            inflight: inflight.clone(),
            interval: settings.heartbeat_interval,
            stall: settings.stall_limit,
            present: present.clone(),
        };
        support.spawn(|stop| async move { heartbeat.run(stop).await });
        let keeper = Keeper {
            registration,
            leading: leading.clone(),
            crash_grace: settings.crash_grace,
            orders: orders.clone(),
            changed: changed.clone(),
            present: present.clone(),
        };
        support.spawn(|stop| async move { keeper.run(session, stop).await });
        let (store_of_logs, buffers_of_logs) = (store.clone(), buffers.clone());
        let interval = settings.log_flush_interval;
        support.spawn(|stop| async move {
            buffers_of_logs.run(&store_of_logs, interval, stop).await;
        });
        let pulse = watchdog.pulse();
        support.spawn(|stop| async move {
            stop.run_until_cancelled(pulse).await;
        });
        let too_many = orders.clone();
        support.spawn(|stop| async move {
            if stop.run_until_cancelled(leaked.cancelled()).await.is_some() {
                too_many.give(StopReason::Leaked);
            }
            stop.cancelled().await;
        });

        let tallies = Arc::new(Tallies::default());
        maintain::start(&store, &settings, &leading, &tallies, &wake, &intake);
        let leader = Leader {
            store: store.clone(),
            worker: id,
            ttl: settings.leader_ttl,
            renew_interval: settings.leader_renew_interval,
            leading: leading.clone(),
            tallies,
        };
        intake.spawn(|stop| async move { leader.run(stop).await });
        let (theirs, woken, told) = (inflight.clone(), wake.clone(), orders.clone());
        intake.spawn(move |stop| listen(listener, id, theirs, woken, told, stop));
        let executor = Arc::new(Executor {
            store: store.clone(),
            alone: settings.alone.map(|executable| {
                let (sandbox, grace) = (modules.sandbox().settings(), settings.overdue_grace);
                Alone::new(executable, sandbox, settings.slots, grace)
            }),
            isolation: settings.isolation,
            modules,
            inflight: inflight.clone(),
            buffers,
            caps: settings.caps.clone(),
            outcomes,
        });
        let claimer = Claimer {
            store: store.clone(),
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
            present,
        };
        intake.spawn(|stop| async move { claimer.run(stop).await });

        info!(worker = %id, slots = settings.slots, "worker started");
        Ok(Self {
            id,
            slots: settings.slots,
            store,
            sandbox,
            inflight,
            leading,
            orders,
            draining,
            changed,
            intake,
            attempts,
            support,
            finisher,
            watchdog,
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
            unwritten: self.inflight.unwritten(),
            leaked: self.sandbox.status().leaked_attempts,
            draining: self.draining.is_cancelled(),
            leading: self.leading.epoch().is_some(),
        }
    }

    /// Resolves when the worker should stop although nobody told its process to, and says what
    /// should become of it.
    pub async fn must_stop(&self) -> StopReason {
        self.orders.reason().await
    }

    /// Takes no more work, waits up to `grace` (or until `hurry`) for what runs, gives the rest
    /// back without burning an attempt, writes every outcome and says goodbye.
    ///
    /// A guest whose thread does not come out of a call is given up after the stall limit, and its
    /// lease left to rescue.
    pub async fn drain(self, grace: Duration, hurry: CancellationToken) {
        let running = self.inflight.len();
        info!(worker = %self.id, running, "draining");
        self.draining.cancel();
        self.changed.notify_one();
        let hurried = self.hurry.clone();
        let watcher = tokio::spawn(async move {
            hurry.cancelled().await;
            hurried.cancel();
        });
        self.intake.stop().await;
        tokio::select! {
            () = self.inflight.empty() => {}
            () = tokio::time::sleep(grace) => {}
            () = self.hurry.cancelled() => {}
        }
        let (store, id) = (self.store.clone(), self.id);
        self.end(KillReason::Shutdown).await;
        watcher.abort();
        match tokio::time::timeout(PATIENCE, store.remove_worker(id)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!(error = chain(&error), "could not leave the registry"),
            Err(_) => warn!("the database did not take the worker out of the registry in time"),
        }
        info!(worker = %id, "worker stopped");
    }

    /// Ends a worker that was declared dead: kills its guests and writes nothing, because its jobs
    /// are somebody else's by now.
    pub async fn abandon(self) {
        warn!(worker = %self.id, running = self.inflight.len(), "this worker was declared dead");
        self.hurry.cancel();
        self.inflight.kill_all(KillReason::LeaseLost);
        self.intake.stop().await;
        self.end(KillReason::LeaseLost).await;
    }

    /// Kills what still runs, and ends the rest of the worker once that has come to its end.
    async fn end(self, reason: KillReason) {
        self.inflight.kill_all(reason);
        self.attempts.close();
        self.attempts.wait().await;
        // The last sender of outcomes went with the claimer and the attempts, so the writer ends
        // once everything is written or given up.
        if let Err(error) = self.finisher.await {
            warn!(error = chain(&error), "the writer of outcomes stopped early");
        }
        self.support.stop().await;
        drop(self.watchdog);
    }
}

/// The row in the registry of a worker that has just started.
fn row(id: WorkerId, settings: &WorkerSettings) -> WorkerRow {
    WorkerRow {
        id,
        hostname: settings.hostname.clone(),
        pid: std::process::id(),
        version: settings.version.clone(),
        slots: settings.slots,
        queues: settings.queues.clone(),
        occupied: 0,
        leaked: 0,
        draining: false,
    }
}
