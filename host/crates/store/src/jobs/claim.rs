//! Leasing jobs to a worker.

use super::cursor::{ClaimCursor, Key, KeyArrays, MAX_KNOWN_LANES, Taken};
use super::finish::{Finish, FinishEnd};
use crate::convert::{convert, count, duration, from_json, length, millis_at_least_one, parse};
use crate::error::{StoreError, sqlstate};
use crate::store::Store;
use cofferdam_core::Time;
use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::{Counters, RetryPolicy, fail_attempt};
use cofferdam_core::ids::{JobId, LeaseKey, TenantId, VersionId, WorkerId};
use cofferdam_core::job::{JobOptions, Priority};
use cofferdam_core::manifest::Grants;
use cofferdam_core::module::{Digest, VersionName, World};
use cofferdam_core::name::{KindName, ModuleName, QueueName};
use cofferdam_core::outcome::{Failure, RetryAdvice, Usage};
use cofferdam_core::settings::KindSettings;
use cofferdam_core::wait::Resumption;
use serde_json::Value;
use sqlx::types::Json;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use uuid::Uuid;

const CLAIM: &str = include_str!("../../queries/jobs/claim.sql");
const WAIT_FOR_LANE: &str = include_str!("../../queries/jobs/wait_for_lane.sql");

/// The most lanes that one pass locks. Bounds what a claim reads, and what it keeps from other
/// claimers meanwhile; the turns bring the others up.
const MAX_LANES: i64 = 16;
/// How often a claim that found only taken lanes waits for one. Each wait ends with another
/// claimer's commit, so that more of them mean that work is being found, just not here.
const MAX_WAITS: usize = 16;

/// How long one of these waits may take, as Postgres writes it. A claimer that is stuck in the
/// middle of its transaction costs the others this much, and then a wait for the next poll.
const LANE_WAIT: &str = "100ms";
/// How long a claim goes on that meets only jobs of quarantined versions. Each step puts some more
/// of them by, so that even a long backlog of theirs is out of the way after a few claims.
const HOLDING: Duration = Duration::from_secs(1);
/// SQLSTATE of a lock that did not become free in time.
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// What to claim.
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    /// For whom.
    pub worker: WorkerId,
    /// From which queues, of every tenant; all of them when empty.
    pub queues: Vec<QueueName>,
    /// How many at most. All payloads come at once: no more than the worker can hold.
    pub max: usize,
    /// The deadline of jobs that name none, nor their kind.
    pub default_deadline: Duration,
    /// The longest deadline.
    pub deadline_cap: Duration,
}

/// A job, leased, with all that is needed to run it.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// The lease.
    pub key: LeaseKey,
    /// Its owner.
    pub tenant: TenantId,
    /// The owner's name.
    pub tenant_name: String,
    /// The module.
    pub module: ModuleName,
    /// The version to run; `None` when it was deleted, or none is current.
    pub version: Option<VersionId>,
    /// Its name, where there is one.
    pub version_name: Option<VersionName>,
    /// Its component, where there is one.
    pub digest: Option<Digest>,
    /// Its world, where there is one.
    pub world: Option<World>,
    /// What the version is granted.
    pub grants: Grants,
    /// The kind.
    pub kind: KindName,
    /// The kind's options; `None` when the version has no such kind.
    pub kind_settings: Option<KindSettings>,
    /// The queue.
    pub queue: QueueName,
    /// The priority.
    pub priority: Priority,
    /// When it was submitted.
    pub created_at: Time,
    /// How often it failed and was lost before.
    pub counters: Counters,
    /// What the submitter said.
    pub options: JobOptions,
    /// The input.
    pub payload: Vec<u8>,
    /// What the last checkpoint of an earlier attempt kept.
    pub checkpoint: Option<Vec<u8>>,
    /// How the job's last wait ended.
    pub resumed: Option<Resumption>,
    /// How long this attempt may take, as the lease has it.
    pub deadline: Duration,
    /// When the claim was sent, on this process's clock: the database counts heartbeat and
    /// deadline from a moment after it.
    pub sent: Instant,
}

#[derive(sqlx::FromRow)]
struct Row {
    job_id: Uuid,
    tenant_id: Uuid,
    queue_id: i64,
    priority: i16,
    run_at: Time,
    run_lease: i64,
    attempts: i32,
    crashes: i32,
    kind: String,
    created_at: Time,
    options: Json<Value>,
    payload: Vec<u8>,
    module: String,
    version_id: Option<Uuid>,
    version_name: Option<String>,
    digest: Option<Vec<u8>>,
    world: Option<String>,
    grants: Option<Json<Value>>,
    kind_settings: Option<Json<Value>>,
    deadline_ms: i64,
    tenant: String,
    queue: String,
    checkpoint: Option<Vec<u8>>,
    resumed_at: Option<Time>,
    answer: Option<Vec<u8>>,
    claimed_at: Time,
    chosen: i64,
    held: bool,
    lanes: Vec<i64>,
}

impl Row {
    fn key(&self) -> LeaseKey {
        LeaseKey { job: JobId::from_uuid(self.job_id), run_lease: self.run_lease }
    }

    fn counters(&self) -> Counters {
        Counters { attempts: count(self.attempts), crashes: count(self.crashes) }
    }

    fn taken(&self) -> Taken {
        let key = Key { run_at: self.run_at, job: self.job_id };
        Taken { lane: self.queue_id, priority: self.priority, key }
    }

    fn claimed(self, sent: Instant) -> Result<Claimed, StoreError> {
        let number: u8 = convert("job's priority", self.priority)?;
        let digest = self.digest.as_deref().map(|bytes| convert("version's digest", bytes));
        Ok(Claimed {
            key: self.key(),
            tenant: TenantId::from_uuid(self.tenant_id),
            module: convert("module's name", self.module)?,
            version: self.version_id.map(VersionId::from_uuid),
            version_name: self
                .version_name
                .map(|name| convert("version's name", name))
                .transpose()?,
            digest: digest.transpose()?,
            world: self.world.map(|world| parse("version's world", &world)).transpose()?,
            grants: match self.grants {
                Some(grants) => from_json("version's grants", grants)?,
                None => Grants::default(),
            },
            kind: convert("job's kind", self.kind)?,
            kind_settings: self
                .kind_settings
                .map(|settings| from_json("kind's options", settings))
                .transpose()?,
            queue: convert("queue's name", self.queue)?,
            priority: convert("job's priority", number)?,
            created_at: self.created_at,
            counters: Counters { attempts: count(self.attempts), crashes: count(self.crashes) },
            options: from_json("job's options", self.options)?,
            payload: self.payload,
            checkpoint: self.checkpoint,
            resumed: self.resumed_at.map(|_| match self.answer {
                Some(answer) => Resumption::CalledBack(answer),
                None => Resumption::TimedOut,
            }),
            deadline: duration(self.deadline_ms),
            sent,
            tenant_name: self.tenant,
        })
    }
}

/// What one pass brought.
struct Pass {
    jobs: Vec<Claimed>,
    short: bool,
    /// The lanes in which it met jobs of quarantined versions.
    held: Vec<i64>,
}

impl Store {
    /// Leases jobs to a worker: of each lane by priority, then `run_at`, then id; the lanes in
    /// turn. Each job goes to one claimer, however many ask.
    ///
    /// An empty answer means that there was nothing to claim, or only what another claimer has kept
    /// locked for longer than a claim should take. A short one does not: ask again
    /// while there is room. (Only when the index is full of dead entries, or when tens of thousands
    /// of jobs of a version in quarantine lie in front, others may have to wait for a few more
    /// calls.) A worker that was evicted gets nothing.
    pub async fn claim(
        &self,
        request: &ClaimRequest,
        cursor: &mut ClaimCursor,
    ) -> Result<Vec<Claimed>, StoreError> {
        if request.max == 0 {
            return Ok(Vec::new());
        }
        let started = Instant::now();
        let mut from_head = cursor.wants_head(started);
        let mut waits = 0;
        while waits < MAX_WAITS {
            let pass = self.pass(request, request.max, from_head, cursor).await?;
            if pass.jobs.is_empty() && !pass.held.is_empty() && started.elapsed() < HOLDING {
                self.hold(&pass.held).await?;
                continue;
            }
            waits += 1;
            // What there is starts at once; the caller asks again where there may be more.
            if !pass.short || !pass.jobs.is_empty() {
                return Ok(pass.jobs);
            }
            if !from_head && cursor.may_head(Instant::now()) {
                from_head = true;
                continue;
            }
            if !from_head || !self.wait_for_lane(request).await? {
                break;
            }
        }
        Ok(Vec::new())
    }

    async fn pass(
        &self,
        request: &ClaimRequest,
        room: usize,
        from_head: bool,
        cursor: &mut ClaimCursor,
    ) -> Result<Pass, StoreError> {
        let mut connection = self.pool().acquire().await?;
        let started = Instant::now();
        let keys = if from_head { KeyArrays::default() } else { cursor.keys() };
        let claiming = sqlx::query_as(CLAIM)
            .bind(request.worker.as_uuid())
            .bind(queue_names(request))
            .bind(length(room))
            .bind(MAX_LANES)
            .bind(cursor.last_lane())
            .bind(millis_at_least_one(request.default_deadline))
            .bind(millis_at_least_one(request.deadline_cap))
            .bind(keys.lanes)
            .bind(keys.priorities)
            .bind(keys.run_at)
            .bind(keys.jobs)
            .bind(length(MAX_KNOWN_LANES))
            .fetch_all(&mut *connection);
        let rows: Vec<Row> = self.in_time(async { Ok(claiming.await?) }).await?;
        drop(connection);
        cursor.took(started, Instant::now(), from_head);
        let chosen = rows.first().map_or(0, |row| row.chosen);
        let short = chosen < length(room);
        let taken: Vec<_> = rows.iter().map(Row::taken).collect();
        let held: BTreeSet<_> =
            rows.iter().filter(|row| row.held).map(|row| row.queue_id).collect();
        if let Some(row) = rows.first() {
            cursor.meet(&row.lanes);
        }
        cursor.learn(&taken, rows.first().map(|row| row.claimed_at), short, from_head);
        let leased = rows.into_iter().filter(|row| !row.held);
        let jobs = self.readable(request.worker, leased, started).await;
        Ok(Pass { jobs, short, held: held.into_iter().collect() })
    }

    /// A row that this version cannot read must not cost the others their lease, nor be tried for
    /// ever: its job ends as not runnable, with the reason in its history.
    async fn readable(
        &self,
        worker: WorkerId,
        rows: impl Iterator<Item = Row> + Send,
        sent: Instant,
    ) -> Vec<Claimed> {
        let mut jobs = Vec::with_capacity(rows.size_hint().1.unwrap_or(0));
        let mut refused = Vec::new();
        for row in rows {
            let (key, counters) = (row.key(), row.counters());
            match row.claimed(sent) {
                Ok(job) => jobs.push(job),
                Err(error) => refused.push(not_readable(key, counters, &error)),
            }
        }
        if !refused.is_empty()
            && let Err(error) = self.finish(worker, &refused).await
        {
            tracing::error!(%error, "jobs that cannot be read are left to rescue");
        }
        jobs
    }

    /// Waits for a lane with work that someone else is claiming from. `false`: there is none, or it
    /// did not become free in time.
    async fn wait_for_lane(&self, request: &ClaimRequest) -> Result<bool, StoreError> {
        let lane: Result<Option<i64>, sqlx::Error> = sqlx::query_scalar(WAIT_FOR_LANE)
            .bind(queue_names(request))
            .bind(LANE_WAIT)
            .bind(request.worker.as_uuid())
            .fetch_optional(self.pool())
            .await;
        match lane {
            Ok(lane) => Ok(lane.is_some()),
            Err(error) if sqlstate(&error).as_deref() == Some(LOCK_NOT_AVAILABLE) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn queue_names(request: &ClaimRequest) -> Vec<&str> {
    request.queues.iter().map(QueueName::as_str).collect()
}

fn not_readable(key: LeaseKey, counters: Counters, error: &StoreError) -> Finish {
    let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    tracing::error!(lease = %key, %error, cause, "a job cannot be read");
    let class = FailureClass::NotRunnable;
    let failure = Failure::new(class, "unreadable", format!("{error}: {cause}"));
    let verdict = fail_attempt(class, RetryAdvice::Default, counters, &RetryPolicy::default(), 0.0);
    Finish { key, end: FinishEnd::Failed { failure, verdict }, usage: Usage::default() }
}
