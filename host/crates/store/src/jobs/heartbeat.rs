//! Renewing leases, on a connection that nothing else uses.

use crate::error::{StoreError, is_transient};
use crate::store::Store;
use cofferdam_core::ids::{JobId, LeaseKey, WorkerId};
use sqlx::postgres::PgConnection;
use std::time::Duration;
use uuid::Uuid;

const HEARTBEAT: &str = include_str!("../../queries/jobs/heartbeat.sql");

/// A lease that the worker still held when it was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    /// The lease.
    pub key: LeaseKey,
    /// Whether someone asked for the job to be cancelled.
    pub cancel: bool,
    /// Whether the lease was renewed; only this proves it. One that is held and not renewed was
    /// locked by somebody else: it may just be ending, and ages until a later heartbeat.
    pub renewed: bool,
}

/// Leases as one array a column.
pub(super) fn key_arrays<'a>(
    keys: impl IntoIterator<Item = &'a LeaseKey>,
) -> (Vec<Uuid>, Vec<i64>) {
    keys.into_iter().map(|key| (key.job.as_uuid(), key.run_lease)).unzip()
}

/// Renews leases over a connection of its own, so that neither what guests ask of the host nor
/// other callers of the pool can keep a worker from holding its leases. Takes a new connection
/// when that one is lost.
#[derive(Debug)]
pub struct Heartbeats {
    store: Store,
    /// None before the first call, and after one that failed.
    connection: Option<PgConnection>,
}

impl Store {
    /// The means to renew leases. Connects with the first heartbeat.
    pub fn heartbeats(&self) -> Heartbeats {
        Heartbeats { store: self.clone(), connection: None }
    }
}

impl Heartbeats {
    /// Renews leases, and answers with those that are still held. Never waits for the lock of a
    /// lease: one that is locked at this moment is held, but not renewed.
    ///
    /// Answers within `timeout`, connecting included: a database that is silent for longer costs
    /// the call and its connection, and the next call takes a new one. So does a call that is
    /// dropped half way.
    pub async fn beat(
        &mut self,
        worker: WorkerId,
        keys: &[LeaseKey],
        timeout: Duration,
    ) -> Result<Vec<Beat>, StoreError> {
        tokio::time::timeout(timeout, self.beat_somehow(worker, keys))
            .await
            .unwrap_or(Err(StoreError::Timeout(timeout)))
    }

    async fn beat_somehow(
        &mut self,
        worker: WorkerId,
        keys: &[LeaseKey],
    ) -> Result<Vec<Beat>, StoreError> {
        if let Some(kept) = self.connection.take() {
            match self.beat_over(kept, worker, keys).await {
                // It has been idle since the last heartbeat: the server may long be back.
                Err(error) if is_transient(&error) => {
                    tracing::warn!(%error, "the connection of the heartbeats was lost");
                }
                answer => return Ok(answer?),
            }
        }
        let fresh = self.store.connect_apart().await?;
        Ok(self.beat_over(fresh, worker, keys).await?)
    }

    /// Keeps the connection only when it has answered: otherwise it goes with this call, whether
    /// that fails or is dropped.
    async fn beat_over(
        &mut self,
        mut connection: PgConnection,
        worker: WorkerId,
        keys: &[LeaseKey],
    ) -> Result<Vec<Beat>, sqlx::Error> {
        let beats = renew(&mut connection, worker, keys).await?;
        self.connection = Some(connection);
        Ok(beats)
    }
}

async fn renew(
    connection: &mut PgConnection,
    worker: WorkerId,
    keys: &[LeaseKey],
) -> Result<Vec<Beat>, sqlx::Error> {
    let (jobs, run_leases) = key_arrays(keys);
    let rows: Vec<(Uuid, i64, bool, bool)> = sqlx::query_as(HEARTBEAT)
        .bind(worker.as_uuid())
        .bind(jobs)
        .bind(run_leases)
        .fetch_all(connection)
        .await?;
    let beat = |(job, run_lease, cancel, renewed)| Beat {
        key: LeaseKey { job: JobId::from_uuid(job), run_lease },
        cancel,
        renewed,
    };
    Ok(rows.into_iter().map(beat).collect())
}
