//! What befalls a platform: time, lost notifications, cut connections, a database that refuses.

use crate::database::execute;
use crate::platform::Platform;
use sqlx::Connection as _;
use sqlx::postgres::PgConnection;
use std::time::Duration;

impl Platform {
    /// Asks for every running job to be cancelled, as the store would, but tells nobody.
    pub async fn request_cancels_silently(&self) {
        let statement = "UPDATE leases SET cancel_requested_at = now(), cancel_cause = 'user'";
        execute(&mut self.db.connection().await, statement.to_owned()).await;
    }

    /// Moves every scheduled job to where it is claimable, as a promotion would, but tells nobody.
    pub async fn make_ready_silently(&self) {
        let statement = "WITH due AS (DELETE FROM scheduled RETURNING *) \
                         INSERT INTO ready (job_id, tenant_id, queue_id, priority, run_at, \
                                            run_lease, attempts, crashes) \
                         SELECT job_id, tenant_id, queue_id, priority, now(), run_lease, \
                                attempts, crashes FROM due";
        execute(&mut self.db.connection().await, statement.to_owned()).await;
    }

    /// Lets time pass for every job that waits for a time to come. The clock that decides about
    /// jobs is the database's, so a test owns it by moving what is compared with it.
    pub async fn let_time_pass(&self, time: Duration) {
        let statement = format!(
            "UPDATE scheduled SET due_at = due_at - INTERVAL '{} milliseconds'",
            time.as_millis()
        );
        execute(&mut self.db.connection().await, statement).await;
    }

    /// Makes every lease so much older, as if its worker had been silent for as long.
    pub async fn let_leases_age(&self, time: Duration) {
        let statement = format!(
            "UPDATE leases SET claimed_at = claimed_at - age.by, heartbeat_at = heartbeat_at - age.by \
             FROM (SELECT INTERVAL '{} milliseconds' AS by) AS age",
            time.as_millis()
        );
        execute(&mut self.db.connection().await, statement).await;
    }

    /// Ends every session of the database but the one that asks for it.
    pub async fn cut_connections(&self) {
        let statement = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                         WHERE datname = current_database() AND pid <> pg_backend_pid()";
        execute(&mut self.db.connection().await, statement.to_owned()).await;
    }

    /// Has the database refuse to take rows out of a table.
    pub async fn refuse_deletions(&self, table: &str) {
        let statement = format!(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN RAISE EXCEPTION 'refused by a test'; END $$; \
             CREATE TRIGGER refuse BEFORE DELETE ON {table} EXECUTE FUNCTION refuse()"
        );
        execute(&mut self.db.connection().await, statement).await;
    }

    /// Has the database take rows out of that table again.
    pub async fn allow_deletions(&self, table: &str) {
        let statement = format!("DROP TRIGGER refuse ON {table}; DROP FUNCTION refuse()");
        execute(&mut self.db.connection().await, statement).await;
    }

    /// Locks every lease there is, as a rescue does in the middle of its work. The locks go with
    /// what this returns.
    pub async fn lock_leases(&self) -> Locks {
        let mut connection = self.db.connection().await;
        execute(&mut connection, "BEGIN; SELECT FROM leases FOR UPDATE".to_owned()).await;
        Locks(Some(connection))
    }
}

/// Locks on rows of the database.
pub struct Locks(Option<PgConnection>);

impl Locks {
    /// Gives them back.
    pub async fn release(mut self) {
        if let Some(connection) = self.0.take() {
            connection.close().await.expect("the database lets go");
        }
    }
}
