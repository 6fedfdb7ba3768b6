//! The session by whose end Postgres tells that a worker's process has ended.
//!
//! A worker keeps one session of its own, which holds an advisory lock, and proves over it that it
//! does. The kernel closes the connections of a process that is killed, Postgres ends the session
//! and lets go of the lock, and the leader sees that it is free: within milliseconds, where a
//! heartbeat takes its staleness.
//!
//! A free lock alone proves nothing: Postgres may have restarted, or somebody may have terminated
//! the session. What is certain enough to act on is said in `queries/presence/watch.sql`; all else
//! is left to the heartbeats. The connection must be a direct one: a proxy that closes it on its
//! own looks like the end of the process. (A pooler that shares sessions is found out, and never
//! believed.)

use crate::error::{StoreError, is_transient};
use crate::store::Store;
use crate::workers::WorkerRow;
use cofferdam_core::ids::WorkerId;
use sqlx::postgres::PgConnection;
use std::time::Duration;

const ENTER: &str = include_str!("../queries/presence/enter.sql");
const RENEW: &str = include_str!("../queries/presence/renew.sql");
const WATCH: &str = include_str!("../queries/presence/watch.sql");
const PING: &str = "SELECT 1";

/// What became of a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registration {
    /// Whether the worker is still registered. If not, it was evicted or forgotten, and has to
    /// start anew under another id.
    pub here: bool,
    /// Whether an operator wants it to drain.
    pub drain: bool,
    /// Whether its session holds the lock. If not, there is a pooler in between, and the end of
    /// the process is only found out by its heartbeats.
    pub locked: bool,
}

/// A worker's session. Dropping it looks like the end of the process.
///
/// Every call answers within its timeout, connecting included. One that does not costs the
/// session, and the next renewal takes a new one; but until that has the lock too, the old one is
/// kept, so that a database that is only slow does not take the worker for dead.
#[derive(Debug)]
pub struct Presence {
    store: Store,
    worker: WorkerId,
    session: Option<Session>,
    /// An earlier session that may still hold the lock, and is not used for anything else.
    parked: Option<PgConnection>,
    /// Whether a call is under way; still true afterwards when it was dropped half way.
    busy: bool,
}

#[derive(Debug)]
struct Session {
    connection: PgConnection,
    /// The first transaction of which it is known that this session was there when it ended.
    since: i64,
    /// Whether the worker proved over it that it holds the lock.
    proven: bool,
}

impl Store {
    /// The means to be present as a worker. Connects with the first renewal.
    pub fn presence(&self, worker: WorkerId) -> Presence {
        Presence { store: self.clone(), worker, session: None, parked: None, busy: false }
    }
}

impl Presence {
    /// Renews the worker's registration over its session, taking one where there is none.
    ///
    /// Updates only: a worker registers once. So one that was evicted or forgotten hears of it.
    pub async fn renew(
        &mut self,
        row: &WorkerRow,
        timeout: Duration,
    ) -> Result<Registration, StoreError> {
        self.begin();
        let answer = tokio::time::timeout(timeout, self.renew_somehow(row)).await;
        self.end(timeout, answer)
    }

    /// Asks over the session for a sign of life. Fails when there is none, or when it was lost.
    pub async fn ping(&mut self, timeout: Duration) -> Result<(), StoreError> {
        self.begin();
        let answer = tokio::time::timeout(timeout, async {
            let session = self.session.as_mut().ok_or_else(no_session)?;
            sqlx::query(PING).execute(&mut session.connection).await?;
            Ok(())
        })
        .await;
        self.end(timeout, answer)
    }

    /// Looks over the session which workers have gone with their process, notes it in their rows,
    /// and answers how many have. What can no longer be said of a worker is taken back.
    ///
    /// Fails when there is no session, or when it was lost. For the leader; any number of watchers
    /// at once do no harm.
    pub async fn watch(&mut self, timeout: Duration) -> Result<usize, StoreError> {
        self.begin();
        let worker = self.worker.as_uuid();
        let answer = tokio::time::timeout(timeout, async {
            let session = self.session.as_mut().ok_or_else(no_session)?;
            let gone: i64 = sqlx::query_scalar(WATCH)
                .bind(worker)
                .bind(session.since)
                .fetch_one(&mut session.connection)
                .await?;
            Ok(usize::try_from(gone).unwrap_or(0))
        })
        .await;
        self.end(timeout, answer)
    }

    /// A call that was dropped half way left the session in the middle of an answer.
    fn begin(&mut self) {
        if self.busy {
            self.park();
        }
        self.busy = true;
    }

    fn end<T>(
        &mut self,
        timeout: Duration,
        answer: Result<Result<T, StoreError>, tokio::time::error::Elapsed>,
    ) -> Result<T, StoreError> {
        self.busy = false;
        match answer {
            Ok(Err(error)) if error.is_transient() => {
                self.session = None;
                Err(error)
            }
            Ok(answer) => answer,
            Err(_) => {
                self.park();
                Err(StoreError::Timeout(timeout))
            }
        }
    }

    /// Uses the session no longer, but keeps the lock that it holds.
    fn park(&mut self) {
        if let Some(session) = self.session.take()
            && (session.proven || self.parked.is_none())
        {
            self.parked = Some(session.connection);
        }
    }

    async fn renew_somehow(&mut self, row: &WorkerRow) -> Result<Registration, StoreError> {
        if let Some(session) = &mut self.session {
            match renew(session, row).await {
                // It has been idle since the last renewal: the server may long be back.
                Err(error) if is_transient(&error) => {
                    tracing::warn!(%error, "the session of the worker was lost");
                    self.session = None;
                }
                answer => return Ok(self.renewed(answer?)),
            }
        }
        let mut connection = self.store.connect_present().await?;
        let (since, _, _): (i64, i64, String) =
            sqlx::query_as(ENTER).bind(self.worker.as_uuid()).fetch_one(&mut connection).await?;
        let session = self.session.insert(Session { connection, since, proven: false });
        let answer = renew(session, row).await?;
        Ok(self.renewed(answer))
    }

    /// The new session has the lock: the old one is not needed any more.
    fn renewed(&mut self, registration: Registration) -> Registration {
        if let Some(session) = &mut self.session
            && registration.locked
        {
            session.proven = true;
            self.parked = None;
        }
        registration
    }
}

async fn renew(session: &mut Session, row: &WorkerRow) -> Result<Registration, sqlx::Error> {
    let renewed: Option<(bool, bool)> = sqlx::query_as_with(RENEW, row.arguments()?)
        .fetch_optional(&mut session.connection)
        .await?;
    Ok(match renewed {
        Some((drain, locked)) => Registration { here: true, drain, locked },
        None => Registration { here: false, drain: false, locked: false },
    })
}

fn no_session() -> StoreError {
    StoreError::Database(sqlx::Error::Io(std::io::ErrorKind::NotConnected.into()))
}
