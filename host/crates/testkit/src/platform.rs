//! A whole platform in the test's process: a database of its own, a sandbox, and workers that the
//! test starts and stops.

use crate::artefacts;
use crate::components;
use crate::database::TestDb;
use crate::proxy::Proxy;
use crate::wait::wait_for;
use cofferdam_core::ids::{JobId, TenantId};
use cofferdam_core::job::{JobOptions, NewJob, Priority};
use cofferdam_core::key::{InstallationKey, KEY_BYTES, Purpose};
use cofferdam_core::manifest::Manifest;
use cofferdam_core::name::ModuleName;
use cofferdam_core::state::JobState;
use cofferdam_runner::{
    Modules, PublishRequest, PublishedModule, Publisher, Secrets, Submitter, Worker, WorkerSettings,
};
use cofferdam_sandbox::{Sandbox, SandboxSettings};
use cofferdam_store::{JobDetail, Store};
use std::sync::OnceLock;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// How long a job of a test may take before the test fails. Generous: machines are shared.
pub const BOUND: Duration = Duration::from_mins(1);

/// The key of an installation in a test.
pub const KEY: [u8; KEY_BYTES] = [7; KEY_BYTES];

/// See the module's documentation.
pub struct Platform {
    /// The database.
    pub db: TestDb,
    /// The database, as the platform sees it.
    pub store: Store,
    /// Compiled components.
    pub modules: Modules,
    /// Publishes versions.
    pub publisher: Publisher,
    /// Accepts jobs.
    pub submitter: Submitter,
    /// Keeps secrets, with [`KEY`].
    pub secrets: Secrets,
}

/// One sandbox serves all tests of a process, on a runtime that outlives each test's own: every
/// pool reserves address space, and tests run in parallel.
fn sandbox() -> Sandbox {
    static SANDBOX: OnceLock<(Runtime, Sandbox)> = OnceLock::new();
    let (_, sandbox) = SANDBOX.get_or_init(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime starts");
        let settings = SandboxSettings { slots: 128, ..SandboxSettings::default() };
        let sandbox =
            Sandbox::start(settings, runtime.handle().clone()).expect("the sandbox starts");
        (runtime, sandbox)
    });
    sandbox.clone()
}

/// Components that were compiled in an earlier test are not compiled again.
async fn modules(store: &Store) -> Modules {
    let sandbox = sandbox();
    let toolchain = artefacts::toolchain(&sandbox).await;
    Modules::new(store.clone(), sandbox, toolchain, 16)
}

impl Platform {
    /// A platform without workers.
    pub async fn start() -> Self {
        let db = TestDb::new().await;
        let store = db.store().await;
        let modules = modules(&store).await;
        let publisher = Publisher::new(store.clone(), modules.clone());
        let submitter = Submitter::new(store.clone(), modules.clone());
        let key = InstallationKey::from_bytes(KEY).derive(Purpose::Secrets);
        let secrets = Secrets::new(store.clone(), Some(key));
        Self { db, store, modules, publisher, submitter, secrets }
    }

    /// Settings for impatient tests: everything that the defaults do every half minute happens
    /// every quarter of a second, in the same proportions.
    pub fn quick() -> WorkerSettings {
        WorkerSettings {
            slots: 16,
            heartbeat_interval: Duration::from_millis(250),
            heartbeat_staleness: Duration::from_secs(2),
            poll_interval: Duration::from_millis(100),
            promote_interval: Duration::from_millis(50),
            rescue_interval: Duration::from_millis(250),
            overdue_grace: Duration::from_secs(2),
            crash_grace: Duration::from_millis(500),
            orphan_grace: Duration::from_secs(1),
            leader_ttl: Duration::from_secs(2),
            leader_renew_interval: Duration::from_millis(500),
            log_flush_interval: Duration::from_millis(50),
            ..WorkerSettings::default()
        }
    }

    /// Starts a worker.
    pub async fn worker(&self, settings: WorkerSettings) -> Worker {
        settings.check().expect("the settings fit together");
        Worker::start(settings, self.store.clone(), self.modules.clone())
            .await
            .expect("the worker starts")
    }

    /// Starts a worker on a network that the test can cut.
    pub async fn worker_behind_a_proxy(&self, settings: WorkerSettings) -> (Worker, Proxy) {
        let (proxy, database) = self.db.proxied().await;
        let store = Store::connect(&database).await.expect("the proxy passes everything on");
        let modules = modules(&store).await;
        let worker = Worker::start(settings, store, modules).await.expect("the worker starts");
        (worker, proxy)
    }

    /// Publishes an example under its own name.
    pub async fn push(&self, example: &str) -> PublishedModule {
        self.publish(example, components::component(example), Manifest::default()).await
    }

    /// Publishes a component.
    pub async fn publish(
        &self,
        name: &str,
        component: Vec<u8>,
        manifest: Manifest,
    ) -> PublishedModule {
        let request = PublishRequest {
            name: Some(ModuleName::new(name).expect("a valid name")),
            version: None,
            manifest,
            activate: true,
        };
        self.publisher
            .publish(TenantId::DEFAULT, component, request)
            .await
            .expect("the component is accepted")
    }

    /// Submits a job with default options.
    pub async fn submit(&self, module: &str, payload: impl Into<Vec<u8>>) -> JobId {
        self.submit_job(new_job(module, payload)).await
    }

    /// Submits a job.
    pub async fn submit_job(&self, job: NewJob) -> JobId {
        let accepted = self.submitter.submit(TenantId::DEFAULT, vec![job]).await;
        accepted.expect("the job is accepted").first().expect("one answer a job").id
    }

    /// What the database says of a job.
    pub async fn job(&self, id: JobId) -> JobDetail {
        let job = self.store.job(TenantId::DEFAULT, id).await.expect("the database answers");
        job.expect("the job exists")
    }

    /// Waits until a job has reached an end.
    pub async fn ended(&self, id: JobId) -> JobDetail {
        self.reached(id, |job| job.state.is_terminal()).await
    }

    /// Waits until a job is in a state.
    pub async fn in_state(&self, id: JobId, state: JobState) -> JobDetail {
        self.reached(id, |job| job.state == state).await
    }

    /// Waits until a job is as asked for.
    pub async fn reached(&self, id: JobId, is: impl Fn(&JobDetail) -> bool) -> JobDetail {
        wait_for(&format!("job {id}"), BOUND, async || {
            let job = self.job(id).await;
            if is(&job) { Ok(job) } else { Err(format!("it is {job:?}")) }
        })
        .await
    }

    /// The messages of all log lines of a job.
    pub async fn log_text(&self, id: JobId) -> String {
        let page = self.store.logs(TenantId::DEFAULT, id, None, 10_000).await;
        let lines = page.expect("the database answers");
        let messages: Vec<_> = lines.iter().map(|line| line.line.message.as_str()).collect();
        messages.join("\n")
    }

    /// Class and message of every attempt of a job that is in the history, oldest first. The error
    /// history leaves out those that were given back or snoozed.
    pub async fn attempts(&self, id: JobId) -> Vec<(String, String)> {
        let query = "SELECT class, message FROM attempts \
                     WHERE job_id = $1 AND class IS NOT NULL ORDER BY run_lease";
        let mut connection = self.db.connection().await;
        let rows = sqlx::query_as(query).bind(id.as_uuid()).fetch_all(&mut connection).await;
        rows.expect("the database answers")
    }

    /// The output of a completed job.
    pub async fn output(&self, id: JobId) -> Vec<u8> {
        let output = self.store.job_output(TenantId::DEFAULT, id).await;
        output.expect("the database answers").expect("the job has an output")
    }
}

/// Drains a worker without patience.
pub async fn stop(worker: Worker) {
    worker.drain(Duration::ZERO, CancellationToken::new()).await;
}

/// A job with default options.
pub fn new_job(module: &str, payload: impl Into<Vec<u8>>) -> NewJob {
    NewJob {
        id: None,
        module: module.parse().expect("a valid reference"),
        queue: None,
        priority: Priority::default(),
        run_at: None,
        payload: payload.into(),
        options: JobOptions::default(),
    }
}
