//! The listening end of the notification channel.

use crate::bounded;
use crate::error::StoreError;
use crate::notify::{self, Wake};
use crate::store::Store;
use sqlx::postgres::PgListener;
use std::time::Duration;
use tokio::time::Instant;

/// The wait before the first try to reconnect; doubled for each that fails.
const FIRST_BACKOFF: Duration = Duration::from_millis(100);
/// The longest wait between tries: how long after a restart of the database jobs may have to wait
/// for a poll.
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// After how long without a word the connection has to show that it lives.
const SILENCE: Duration = Duration::from_secs(30);

/// Listens on a connection of its own, and takes a new one when that is lost.
#[derive(Debug)]
pub struct Listener {
    store: Store,
    connected: Option<PgListener>,
    failures: u32,
    retry_at: Instant,
}

impl Store {
    /// Starts to listen. Whoever listens looks at the tables once after this returns: what was
    /// written before is not announced again.
    pub async fn listen(&self) -> Result<Listener, StoreError> {
        let connected = connect(self).await?;
        Ok(Listener {
            store: self.clone(),
            connected: Some(connected),
            failures: 0,
            retry_at: Instant::now(),
        })
    }
}

impl Listener {
    /// Waits for the next reason to look. Never fails: while the database is away, it waits.
    ///
    /// Can be dropped and called again at any time; the time of the next try to reconnect is kept.
    pub async fn recv(&mut self) -> Wake {
        loop {
            let Some(listener) = &mut self.connected else {
                tokio::time::sleep_until(self.retry_at).await;
                match Box::pin(connect(&self.store)).await {
                    Ok(listener) => {
                        self.connected = Some(listener);
                        self.failures = 0;
                        return Wake::Reconnected;
                    }
                    Err(error) => self.back_off(&error),
                }
                continue;
            };
            let heard = match tokio::time::timeout(SILENCE, Box::pin(listener.try_recv())).await {
                Ok(heard) => heard,
                // A network that swallows everything looks like a database that has nothing to say.
                Err(_) => match bounded::lives(listener).await {
                    Ok(()) => continue,
                    Err(error) => Err(error),
                },
            };
            match heard {
                Ok(Some(notification)) => {
                    if let Some(wake) = notify::parse(notification.payload()) {
                        return wake;
                    }
                    tracing::debug!(payload = notification.payload(), "unknown notification");
                }
                Ok(None) => self.lost(None),
                Err(error) => self.lost(Some(&error)),
            }
        }
    }

    fn lost(&mut self, error: Option<&sqlx::Error>) {
        tracing::warn!(
            error = error.map(tracing::field::display),
            "the listening connection was lost"
        );
        self.connected = None;
        self.retry_at = Instant::now();
    }

    fn back_off(&mut self, error: &StoreError) {
        let wait =
            FIRST_BACKOFF.saturating_mul(2_u32.saturating_pow(self.failures)).min(MAX_BACKOFF);
        self.failures = self.failures.saturating_add(1);
        self.retry_at = Instant::now() + wait;
        tracing::warn!(%error, ?wait, "cannot listen");
    }
}

async fn connect(store: &Store) -> Result<PgListener, StoreError> {
    store.in_time(connect_somehow(store)).await
}

async fn connect_somehow(store: &Store) -> Result<PgListener, StoreError> {
    let pool = store.own_connection().await?;
    let mut listener = PgListener::connect_with(&pool).await?;
    // We reconnect ourselves: with a wait between tries, and saying so.
    listener.eager_reconnect(false);
    listener.listen(store.channel()).await?;
    Ok(listener)
}
