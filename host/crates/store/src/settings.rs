//! How to reach the database.

use crate::error::StoreError;
use sqlx::postgres::PgConnectOptions;
use std::fmt;
use std::time::Duration;

/// The longest schema name, in bytes. Postgres cuts identifiers at 63, and partitions and indexes
/// have longer names than the schema.
const MAX_SCHEMA: usize = 48;

/// How long a session may sit in a transaction without a word. A worker that stopped in the middle
/// of one would hold its locks, and the vacuum horizon, for as long.
const IDLE_IN_TRANSACTION: Duration = Duration::from_mins(1);

/// How to reach the database, and how long to wait for it.
#[derive(Clone)]
pub struct StoreSettings {
    /// `postgres://user:password@host:port/database`.
    pub url: String,
    /// The schema of this installation. Several can live in one database.
    pub schema: String,
    /// The most connections of the pool; listeners and heartbeats have one more each of their own.
    pub max_connections: u32,
    /// After this long the database gives a statement up.
    pub statement_timeout: Duration,
    /// How long to wait for a connection: for a new one, and for a free one of the pool.
    pub acquire_timeout: Duration,
    /// What `pg_stat_activity` shows.
    pub application_name: String,
}

impl Default for StoreSettings {
    /// Everything but the URL.
    fn default() -> Self {
        Self {
            url: String::new(),
            schema: "cofferdam".to_owned(),
            max_connections: 10,
            statement_timeout: Duration::from_secs(30),
            acquire_timeout: Duration::from_secs(30),
            application_name: "cofferdam".to_owned(),
        }
    }
}

impl StoreSettings {
    /// The defaults for a database.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), ..Self::default() }
    }

    /// The options of every connection.
    pub(crate) fn connect_options(&self) -> Result<PgConnectOptions, StoreError> {
        let schema = SchemaName::new(self.schema.as_str())?;
        let options: PgConnectOptions = self.url.parse().map_err(StoreError::Url)?;
        let millis = |duration: Duration| duration.as_millis().to_string();
        Ok(options.application_name(&self.application_name).options([
            ("search_path", schema.as_str()),
            ("statement_timeout", millis(self.statement_timeout).as_str()),
            ("idle_in_transaction_session_timeout", millis(IDLE_IN_TRANSACTION).as_str()),
            // A plan made while the queue was empty reads the whole table, and would be kept for
            // when it is full. Planning a batch anew costs less than a millisecond.
            ("plan_cache_mode", "force_custom_plan"),
        ]))
    }
}

impl fmt::Debug for StoreSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL is left out: it may hold a password.
        f.debug_struct("StoreSettings")
            .field("schema", &self.schema)
            .field("max_connections", &self.max_connections)
            .field("statement_timeout", &self.statement_timeout)
            .field("acquire_timeout", &self.acquire_timeout)
            .field("application_name", &self.application_name)
            .finish_non_exhaustive()
    }
}

/// The name of a schema, checked so that it can stand in a statement. Also the name of the
/// installation's notification channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SchemaName(String);

impl SchemaName {
    /// Checks a text: 1 to 48 lower-case letters, digits and `_`, starting with a letter, and not
    /// with `pg_`, which Postgres keeps for itself.
    pub fn new(text: impl Into<String>) -> Result<Self, StoreError> {
        let text = text.into();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let fits = text.len() <= MAX_SCHEMA
            && text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.chars().all(plain)
            && !text.starts_with("pg_");
        if fits { Ok(Self(text)) } else { Err(StoreError::SchemaName(text)) }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Puts the name into a statement that must not depend on the `search_path`.
    pub(crate) fn qualify(&self, sql: &str) -> String {
        sql.replace("{schema}", &format!("\"{}\"", self.0))
    }
}

impl fmt::Display for SchemaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_names_can_stand_in_a_statement() {
        for good in ["cofferdam", "a", "tenant_7", "public"] {
            assert!(SchemaName::new(good).is_ok(), "{good}");
        }
        for bad in ["", "7up", "Cofferdam", "a-b", "a\"; DROP", "pg_temp", &"x".repeat(49)] {
            assert!(SchemaName::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn debug_output_hides_the_password() {
        let settings = StoreSettings::new("postgres://user:secret@localhost/db");
        assert!(!format!("{settings:?}").contains("secret"));
    }
}
