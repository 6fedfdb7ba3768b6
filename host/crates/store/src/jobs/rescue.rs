//! Leases whose worker does not end them.

use super::finish::{Finish, FinishEnd};
use crate::convert::{count, duration, from_json, length, millis};
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::{Counters, Verdict};
use cofferdam_core::history::{EVICTED, HARD_DEADLINE, HEARTBEAT_STALE, ORPHANED, WORKER_GONE};
use cofferdam_core::ids::{JobId, LeaseKey, WorkerId};
use cofferdam_core::job::JobOptions;
use cofferdam_core::outcome::{Failure, Usage};
use cofferdam_core::settings::KindSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sqlx::postgres::PgConnection;
use sqlx::types::Json;
use std::collections::HashMap;
use std::time::Duration;
use uuid::Uuid;

const LOST_STALE: &str = include_str!("../../queries/jobs/lost_stale.sql");
const LOST_LATE: &str = include_str!("../../queries/jobs/lost_late.sql");
const LOST_GONE: &str = include_str!("../../queries/jobs/lost_gone.sql");
const LOST_ORPHAN: &str = include_str!("../../queries/jobs/lost_orphan.sql");
const LOST_EVICTED: &str = include_str!("../../queries/jobs/lost_evicted.sql");

/// Which leases to rescue. The database's clock decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RescueKind {
    /// Those whose worker has been silent.
    Heartbeat {
        /// For at least this long.
        staleness: Duration,
    },
    /// Those whose deadline has passed.
    Deadline {
        /// By at least this much: a worker ends attempts on time, but what it has to say about
        /// that takes a while to arrive.
        grace: Duration,
    },
    /// Those whose worker has gone with its process, as `Presence::watch` saw it.
    Crash {
        /// For at least this long, from the first look to the last.
        grace: Duration,
    },
    /// Those whose worker is not registered, or was evicted.
    Orphan {
        /// That were claimed at least this long ago: an eviction may overtake a claim.
        grace: Duration,
    },
    /// Those of a worker that was evicted.
    Evicted {
        /// The worker.
        worker: WorkerId,
    },
}

impl RescueKind {
    fn failure(self) -> Failure {
        let (class, code, message) = match self {
            Self::Heartbeat { .. } => (FailureClass::Lost, "heartbeat_stale", HEARTBEAT_STALE),
            Self::Deadline { .. } => (FailureClass::Deadline, "hard_deadline", HARD_DEADLINE),
            Self::Crash { .. } => (FailureClass::Lost, "worker_gone", WORKER_GONE),
            Self::Orphan { .. } => (FailureClass::Lost, "orphaned", ORPHANED),
            Self::Evicted { .. } => (FailureClass::Lost, "evicted", EVICTED),
        };
        Failure::new(class, code, message)
    }

    /// Locks up to `limit` of these leases, of the jobs behind `after`.
    async fn lock(
        self,
        connection: &mut PgConnection,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        let query = match self {
            Self::Heartbeat { staleness } => sqlx::query_as(LOST_STALE).bind(millis(staleness)),
            Self::Deadline { grace } => sqlx::query_as(LOST_LATE).bind(millis(grace)),
            Self::Crash { grace } => sqlx::query_as(LOST_GONE).bind(millis(grace)),
            Self::Orphan { grace } => sqlx::query_as(LOST_ORPHAN).bind(millis(grace)),
            Self::Evicted { worker } => sqlx::query_as(LOST_EVICTED).bind(worker.as_uuid()),
        };
        let query = query.bind(length(limit)).bind(after.map(JobId::as_uuid));
        Ok(query.fetch_all(connection).await?)
    }
}

/// What one batch of a sweep found. A sweep is over when a batch is smaller than its limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rescued {
    /// How many leases were looked at.
    pub seen: usize,
    /// How many of them ended. The database refused to end the others.
    pub ended: usize,
    /// The last job that was looked at, behind which the next batch starts; `None` when there was
    /// none.
    pub last: Option<JobId>,
    /// The time since the last heartbeat, of each that ended.
    pub recovery: Vec<Duration>,
}

/// A lease to decide about.
#[derive(Clone, Debug)]
pub struct LostLease {
    /// The lease.
    pub key: LeaseKey,
    /// The worker that holds it.
    pub worker: WorkerId,
    /// How often the job failed and was lost before.
    pub counters: Counters,
    /// What the submitter said.
    pub options: JobOptions,
    /// The options of the kind of the version that runs.
    pub kind_settings: Option<KindSettings>,
}

#[derive(sqlx::FromRow)]
struct Row {
    job_id: Uuid,
    run_lease: i64,
    worker_id: Uuid,
    attempts: i32,
    crashes: i32,
    options: Json<Value>,
    kind_settings: Option<Json<Value>>,
    silent_ms: i64,
}

impl Row {
    fn lost(self) -> LostLease {
        let key = LeaseKey { job: JobId::from_uuid(self.job_id), run_lease: self.run_lease };
        LostLease {
            key,
            worker: WorkerId::from_uuid(self.worker_id),
            counters: Counters { attempts: count(self.attempts), crashes: count(self.crashes) },
            options: or_default(key, "job's options", self.options),
            kind_settings: self
                .kind_settings
                .map(|settings| or_default(key, "kind's options", settings)),
        }
    }
}

/// A row that cannot be read is rescued by the defaults: it must not stop the sweep.
fn or_default<T: DeserializeOwned + Default>(
    key: LeaseKey,
    what: &'static str,
    value: Json<Value>,
) -> T {
    from_json(what, value).unwrap_or_else(|error| {
        tracing::error!(lease = %key, %error, "rescued with default options");
        T::default()
    })
}

impl Store {
    /// Ends up to `limit` attempts of one kind that their workers do not end, of the jobs behind
    /// `after` in the order of their ids. `decide` is asked what becomes of each job; a cancel that
    /// was asked for wins over it.
    ///
    /// An end that the database refuses is written without detail; what is refused even so is
    /// logged and passed over. When all of it is too much for the database
    /// (`StoreError::is_overload`), a smaller limit may help.
    ///
    /// One transaction. Any number of callers may sweep at once: each lease ends once.
    pub async fn rescue(
        &self,
        kind: RescueKind,
        after: Option<JobId>,
        limit: usize,
        decide: &(dyn Fn(&LostLease) -> Verdict + Sync),
    ) -> Result<Rescued, StoreError> {
        let mut transaction = self.begin().await?;
        let rows = self.in_time(kind.lock(&mut transaction, after, limit)).await?;
        let Some(last) = rows.last().map(|row| JobId::from_uuid(row.job_id)) else {
            return Ok(Rescued::default());
        };
        let seen = rows.len();
        let mut batch = Vec::with_capacity(seen);
        let mut silent = HashMap::with_capacity(seen);
        for row in rows {
            let silence = duration(row.silent_ms);
            let lease = row.lost();
            silent.insert(lease.key, silence);
            let end = FinishEnd::Failed { failure: kind.failure(), verdict: decide(&lease) };
            batch.push(Finish { key: lease.key, end, usage: Usage::default() });
        }
        let batch: Vec<_> = batch.iter().collect();
        let settled = self.settle_apart(&mut transaction, None, &batch).await?;
        self.commit(transaction).await?;
        let recovery = settled.keys().filter_map(|key| silent.get(key).copied()).collect();
        Ok(Rescued { seen, ended: settled.len(), last: Some(last), recovery })
    }
}
