//! Evidence against versions whose guests kill the processes that they run in.

use super::finish::{Finish, FinishEnd};
use super::heartbeat::key_arrays;
use super::settle::Settled;
use crate::convert::millis;
use crate::error::StoreError;
use cofferdam_core::history::PROCESS_DIED;
use cofferdam_core::recovery::{QUARANTINE_JOBS, QUARANTINE_WINDOW};
use sqlx::PgConnection;
use uuid::Uuid;

const LOCK: &str = include_str!("../../queries/quarantine/lock.sql");
const JUDGE: &str = include_str!("../../queries/quarantine/judge.sql");

/// Puts versions into quarantine whose attempts killed their processes, counting those that were
/// just settled. In the transaction that settled them.
pub(super) async fn judge(
    connection: &mut PgConnection,
    batch: &[&Finish],
    settled: &Settled,
) -> Result<(), StoreError> {
    let deaths: Vec<_> = batch
        .iter()
        .filter(|finish| settled.contains_key(&finish.key) && killed_its_process(&finish.end))
        .map(|finish| &finish.key)
        .collect();
    if deaths.is_empty() {
        return Ok(());
    }
    let (jobs, run_leases) = key_arrays(deaths);
    sqlx::query(LOCK)
        .bind(&jobs)
        .bind(&run_leases)
        .bind(PROCESS_DIED)
        .execute(&mut *connection)
        .await?;
    let versions: Vec<Uuid> = sqlx::query_scalar(JUDGE)
        .bind(&jobs)
        .bind(&run_leases)
        .bind(PROCESS_DIED)
        .bind(i64::from(QUARANTINE_JOBS))
        .bind(millis(QUARANTINE_WINDOW))
        .bind(format!(
            "{QUARANTINE_JOBS} jobs killed the process that ran them within {} minutes",
            QUARANTINE_WINDOW.as_secs() / 60
        ))
        .fetch_all(connection)
        .await?;
    for version in versions {
        tracing::error!(%version, "a version is in quarantine: its guests kill their processes");
    }
    Ok(())
}

fn killed_its_process(end: &FinishEnd) -> bool {
    matches!(end, FinishEnd::Failed { failure, .. } if failure.code == PROCESS_DIED)
}
