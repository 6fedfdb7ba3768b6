//! A database with one module in it, and short words for what tests do with jobs.

use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::{RetryPolicy, Verdict, fail_attempt};
use cofferdam_core::ids::{JobId, LeaseKey, TenantId, WorkerId};
use cofferdam_core::job::{JobOptions, Priority};
use cofferdam_core::limits::LimitWish;
use cofferdam_core::manifest::Manifest;
use cofferdam_core::module::{Digest, KindInfo, VersionName, World};
use cofferdam_core::name::{KindName, ModuleName, QueueName};
use cofferdam_core::outcome::{Failure, RetryAdvice, Usage};
use cofferdam_core::retry::Backoff;
use cofferdam_core::settings::KindSettings;
use cofferdam_core::state::JobState;
use cofferdam_store::{
    ClaimCursor, ClaimRequest, Claimed, EnqueueJob, Enqueued, Finish, FinishEnd, JobDetail,
    NewVersion, Presence, Published, RescueKind, Store, WorkerInfo, WorkerRow,
};
use cofferdam_testkit::TestDb;
use sqlx::{AssertSqlSafe, PgConnection};
use std::time::Duration;
use uuid::Uuid;

pub(crate) const TENANT: TenantId = TenantId::DEFAULT;

/// How long whatever should happen at once may take.
pub(crate) const BOUND: Duration = Duration::from_secs(20);

/// What an attempt of these tests used.
pub(crate) const USAGE: Usage = Usage {
    fuel: 11,
    cpu_micros: 12,
    wall_micros: 13,
    peak_memory_bytes: 14,
    log_bytes: 15,
    output_bytes: 16,
};

/// A database with the module `images`, version `1`, of the kinds `thumbnail` and `blur`.
pub(crate) struct House {
    pub(crate) db: TestDb,
    pub(crate) store: Store,
    pub(crate) images: Published,
}

impl House {
    pub(crate) async fn new() -> Self {
        let db = TestDb::new().await;
        let store = db.store().await;
        let images = store.publish(&version("images", "the first component")).await.unwrap();
        Self { db, store, images }
    }

    /// A job that is due now, of the queue `default`.
    pub(crate) fn job(&self) -> EnqueueJob {
        EnqueueJob {
            id: job_id(),
            tenant: TENANT,
            module: self.images.module,
            version: None,
            kind: kind("thumbnail"),
            queue: queue("default"),
            priority: Priority::default(),
            run_at: None,
            payload: b"input".to_vec(),
            options: JobOptions::default(),
        }
    }

    pub(crate) fn jobs(&self, count: usize) -> Vec<EnqueueJob> {
        (0..count).map(|_| self.job()).collect()
    }

    pub(crate) async fn enqueue(&self, job: EnqueueJob) -> JobId {
        self.enqueue_all(&[job]).await[0].id
    }

    pub(crate) async fn enqueue_all(&self, jobs: &[EnqueueJob]) -> Vec<Enqueued> {
        self.store.enqueue(jobs).await.unwrap()
    }

    /// Claims what there is, from all queues and from the head.
    pub(crate) async fn claim(&self, worker: WorkerId, max: usize) -> Vec<Claimed> {
        self.store.claim(&request(worker, max), &mut ClaimCursor::default()).await.unwrap()
    }

    /// A new job that runs.
    pub(crate) async fn running(&self, worker: WorkerId) -> LeaseKey {
        let id = self.enqueue(self.job()).await;
        let claimed = self.claim(worker, 1).await;
        assert_eq!(claimed[0].key.job, id);
        claimed[0].key
    }

    /// Claims one job, which must be the given one.
    pub(crate) async fn claim_again(&self, worker: WorkerId, job: JobId) -> Claimed {
        let claimed = self.claim(worker, 1).await.remove(0);
        assert_eq!(claimed.key.job, job);
        claimed
    }

    pub(crate) async fn finish(
        &self,
        worker: WorkerId,
        key: LeaseKey,
        end: FinishEnd,
    ) -> Option<JobState> {
        let finish = Finish { key, end, usage: USAGE };
        self.store.finish(worker, &[finish]).await.unwrap()[0].applied
    }

    /// One batch of a sweep from the start, and how many attempts it ended.
    pub(crate) async fn rescue(
        &self,
        kind: RescueKind,
        limit: usize,
        class: FailureClass,
    ) -> usize {
        self.store.rescue(kind, None, limit, &decide(class)).await.unwrap().ended
    }

    /// Registers a new worker.
    pub(crate) async fn register(&self) -> WorkerId {
        let row = worker_row(worker());
        self.store.register_worker(&row).await.unwrap();
        row.id
    }

    /// A worker that is registered and has its session.
    pub(crate) async fn present(&self) -> (WorkerId, Presence) {
        let id = self.register().await;
        (id, self.enter(id).await)
    }

    /// Gives a registered worker a session.
    pub(crate) async fn enter(&self, id: WorkerId) -> Presence {
        let mut presence = self.store.presence(id);
        let registration = presence.renew(&worker_row(id), BOUND).await.unwrap();
        assert!(registration.here && registration.locked);
        presence
    }

    /// What the register says of a worker.
    pub(crate) async fn worker_info(&self, id: WorkerId) -> WorkerInfo {
        let workers = self.store.workers().await.unwrap();
        workers.into_iter().find(|worker| worker.id == id).unwrap()
    }

    pub(crate) async fn state(&self, job: JobId) -> JobState {
        self.store.job_state(TENANT, job).await.unwrap().unwrap()
    }

    pub(crate) async fn detail(&self, job: JobId) -> JobDetail {
        self.store.job(TENANT, job).await.unwrap().unwrap()
    }

    pub(crate) async fn execute(&self, sql: &str) {
        execute(&mut self.db.connection().await, sql).await;
    }

    /// The invariants of the tables: each job is in exactly one of them, and nothing else is.
    pub(crate) async fn assert_one_place(&self) {
        let mut connection = self.db.connection().await;
        let places: Vec<(Uuid, i64)> = sqlx::query_as(
            "SELECT id, (SELECT count(*) FROM job_state WHERE job_id = id) FROM jobs",
        )
        .fetch_all(&mut connection)
        .await
        .unwrap();
        for (job, count) in places {
            assert_eq!(count, 1, "job {job} is in {count} places");
        }
        let strays: Vec<Uuid> = sqlx::query_scalar(
            "SELECT job_id FROM job_state WHERE job_id NOT IN (SELECT id FROM jobs)",
        )
        .fetch_all(&mut connection)
        .await
        .unwrap();
        assert!(strays.is_empty(), "rows without a job: {strays:?}");
    }
}

pub(crate) async fn execute(connection: &mut PgConnection, sql: &str) {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection).await.unwrap();
}

pub(crate) fn job_id() -> JobId {
    JobId::from_uuid(Uuid::now_v7())
}

pub(crate) fn worker() -> WorkerId {
    WorkerId::from_uuid(Uuid::now_v7())
}

pub(crate) fn worker_row(id: WorkerId) -> WorkerRow {
    WorkerRow {
        id,
        hostname: "host".to_owned(),
        pid: 7,
        version: "0.1.0".to_owned(),
        slots: 8,
        queues: Vec::new(),
        occupied: 0,
        draining: false,
        leaked: 0,
    }
}

pub(crate) fn kind(name: &str) -> KindName {
    KindName::new(name).unwrap()
}

pub(crate) fn queue(name: &str) -> QueueName {
    QueueName::new(name).unwrap()
}

pub(crate) fn module(name: &str) -> ModuleName {
    ModuleName::new(name).unwrap()
}

pub(crate) fn version_name(name: &str) -> VersionName {
    VersionName::new(name).unwrap()
}

pub(crate) fn priority(number: u8) -> Priority {
    Priority::new(number).unwrap()
}

pub(crate) fn request(worker: WorkerId, max: usize) -> ClaimRequest {
    ClaimRequest {
        worker,
        queues: Vec::new(),
        max,
        default_deadline: Duration::from_mins(5),
        deadline_cap: Duration::from_hours(1),
    }
}

/// A version of a module with other bytes, to be counted up and made current.
pub(crate) fn version(name: &str, bytes: &str) -> NewVersion {
    let info = |name: &str| KindInfo {
        name: kind(name),
        description: format!("Does a {name}."),
        input_schema: None,
        deadline: None,
        memory_bytes: None,
        fuel: None,
        max_attempts: None,
    };
    let blur = KindSettings {
        limits: LimitWish { deadline: Some(Duration::from_secs(20)), ..LimitWish::default() },
        ..KindSettings::default()
    };
    NewVersion {
        tenant: TENANT,
        name: module(name),
        version: None,
        digest: Digest::of(bytes.as_bytes()),
        bytes: bytes.as_bytes().to_vec(),
        world: World::Handler,
        imports: vec!["cofferdam:job/log@0.1.0".to_owned()],
        manifest: Manifest::default(),
        kinds: vec![(info("thumbnail"), KindSettings::default()), (info("blur"), blur)],
        activate: true,
    }
}

pub(crate) fn completed() -> FinishEnd {
    FinishEnd::Completed(b"output".to_vec())
}

/// A policy that never waits.
pub(crate) fn at_once() -> RetryPolicy {
    RetryPolicy { backoff: Backoff::None, ..RetryPolicy::default() }
}

/// How the attempt failed, with the verdict that core gives.
pub(crate) fn failed(class: FailureClass, claimed: &Claimed, policy: &RetryPolicy) -> FinishEnd {
    let failure = Failure::new(class, class.as_str(), format!("it was {class}"));
    let verdict = fail_attempt(class, RetryAdvice::Default, claimed.counters, policy, 0.5);
    FinishEnd::Failed { failure, verdict }
}

/// What the sweeps decide, by the default policy.
pub(crate) fn decide(class: FailureClass) -> impl Fn(&cofferdam_store::LostLease) -> Verdict {
    move |lost| {
        fail_attempt(class, RetryAdvice::Default, lost.counters, &RetryPolicy::default(), 0.5)
    }
}
