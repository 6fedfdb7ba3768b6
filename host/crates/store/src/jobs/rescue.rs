//! Leases whose worker does not end them.

use super::finish::{Finish, FinishEnd};
use super::settle::settle_apart;
use crate::convert::{count, from_json, length, millis};
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::class::FailureClass;
use cofferdam_core::fail::{Counters, Verdict};
use cofferdam_core::history::{HARD_DEADLINE, HEARTBEAT_STALE};
use cofferdam_core::ids::{JobId, LeaseKey, WorkerId};
use cofferdam_core::job::JobOptions;
use cofferdam_core::outcome::{Failure, Usage};
use cofferdam_core::settings::KindSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sqlx::types::Json;
use std::time::Duration;
use uuid::Uuid;

const LOST_STALE: &str = include_str!("../../queries/jobs/lost_stale.sql");
const LOST_LATE: &str = include_str!("../../queries/jobs/lost_late.sql");

/// Which leases to rescue. The database's clock decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RescueKind {
    /// Those whose worker has been silent.
    Heartbeat {
        /// For at least this long.
        staleness: Duration,
    },
    /// Those whose deadline has passed.
    Deadline,
}

impl RescueKind {
    fn failure(self) -> Failure {
        match self {
            Self::Heartbeat { .. } => Failure::new(FailureClass::Lost, "lost", HEARTBEAT_STALE),
            Self::Deadline => Failure::new(FailureClass::Deadline, "deadline", HARD_DEADLINE),
        }
    }
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
    /// Ends up to `limit` attempts of one kind that their workers do not end, and answers how
    /// many. `decide` is asked what becomes of each job; a cancel that was asked for wins over it.
    ///
    /// One transaction. Any number of callers may sweep at once: each lease ends once.
    pub async fn rescue(
        &self,
        kind: RescueKind,
        limit: usize,
        decide: &(dyn Fn(&LostLease) -> Verdict + Sync),
    ) -> Result<usize, StoreError> {
        let mut transaction = self.begin().await?;
        let lost = match kind {
            RescueKind::Heartbeat { staleness } => {
                sqlx::query_as(LOST_STALE).bind(millis(staleness))
            }
            RescueKind::Deadline => sqlx::query_as(LOST_LATE),
        };
        let lost: Vec<Row> = lost.bind(length(limit)).fetch_all(&mut *transaction).await?;
        if lost.is_empty() {
            return Ok(0);
        }
        let batch: Vec<_> = lost
            .into_iter()
            .map(|row| {
                let lost = row.lost();
                let end = FinishEnd::Failed { failure: kind.failure(), verdict: decide(&lost) };
                Finish { key: lost.key, end, usage: Usage::default() }
            })
            .collect();
        let batch: Vec<_> = batch.iter().collect();
        let settled = settle_apart(&mut transaction, self.channel(), None, &batch).await?;
        transaction.commit().await?;
        Ok(settled.len())
    }
}
