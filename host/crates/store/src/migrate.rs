//! Forward-only migrations, compiled in from `migrations/`.
//!
//! Each runs in a transaction of its own that also notes it in `schema_migrations`, under an
//! advisory lock of the schema's name, so that any number of processes may migrate at once.

use crate::error::StoreError;
use crate::settings::SchemaName;
use crate::store::Store;
use cofferdam_core::hint::Hint;
use cofferdam_core::module::Digest;
use sqlx::error::DatabaseError;
use sqlx::{AssertSqlSafe, PgConnection};
use std::fmt::Write as _;
use std::time::Duration;
use thiserror::Error;
use tokio::time::Instant;

struct Migration {
    version: i64,
    name: &'static str,
    sql: &'static str,
}

/// In order, without gaps, from 1. A file that was released is never changed.
const MIGRATIONS: [Migration; 3] = [
    Migration {
        version: 1,
        name: "foundation",
        sql: include_str!("../../../../migrations/0001_foundation.sql"),
    },
    Migration {
        version: 2,
        name: "recovery",
        sql: include_str!("../../../../migrations/0002_recovery.sql"),
    },
    Migration {
        version: 3,
        name: "secrets",
        sql: include_str!("../../../../migrations/0003_secrets.sql"),
    },
];

/// Made before the first migration, which it has to be noted in.
const CREATE_HISTORY: &str = include_str!("../queries/schema/create_history.sql");
const NOTE: &str = include_str!("../queries/schema/note.sql");
const HISTORY: &str = include_str!("../queries/schema/history.sql");
const PATIENTLY: &str = "SET LOCAL statement_timeout = 0";
const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1 || '.migrate', 0))";

/// Why the schema cannot be used or migrated.
#[derive(Debug, Error)]
pub enum SchemaError {
    /// There is nothing there yet.
    #[error("the database has no Cofferdam schema `{schema}`")]
    NoSchema {
        /// Its name.
        schema: String,
    },
    /// Migrations are missing.
    #[error("the schema `{schema}` is at version {current}, this program needs {latest}")]
    SchemaOlder {
        /// Its name.
        schema: String,
        /// The version it has.
        current: i64,
        /// The version this program needs.
        latest: i64,
    },
    /// A later program migrated it.
    #[error(
        "the schema `{schema}` is at version {current}, this program knows only up to {latest}"
    )]
    SchemaNewer {
        /// Its name.
        schema: String,
        /// The version it has.
        current: i64,
        /// The latest version this program knows.
        latest: i64,
    },
    /// A migration was applied in another form.
    #[error("migration {version} ({name}) was applied to `{schema}` with other contents")]
    Changed {
        /// The schema.
        schema: String,
        /// The migration's number.
        version: i64,
        /// The migration's name.
        name: String,
    },
    /// A migration failed; nothing of it is left.
    #[error("migration {version} ({name}) failed")]
    Failed {
        /// The migration's number.
        version: i64,
        /// The migration's name.
        name: &'static str,
        /// Why.
        #[source]
        source: sqlx::Error,
    },
}

impl Hint for SchemaError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::NoSchema { .. } | Self::SchemaOlder { .. } => {
                Some("run `cofferdam migrate up`".to_owned())
            }
            Self::SchemaNewer { .. } => Some(
                "use a version of Cofferdam at least as new as the one that migrated it; \
                 migrations are not undone"
                    .to_owned(),
            ),
            Self::Changed { .. } => Some(
                "a build from other sources migrated this schema: use that one, or another schema"
                    .to_owned(),
            ),
            Self::Failed { source, .. } => {
                let code = source.as_database_error().and_then(DatabaseError::code);
                // Insufficient privilege.
                (code.as_deref() == Some("42501")).then(|| {
                    "the database user may not create this: migrate as the owner, or let the \
                     owner run the output of `cofferdam migrate sql`"
                        .to_owned()
                })
            }
        }
    }
}

/// A migration that was just applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Its number.
    pub version: i64,
    /// Its name.
    pub name: &'static str,
    /// How long it took.
    pub took: Duration,
}

/// Where a schema stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationStatus {
    /// The schema.
    pub schema: String,
    /// The number of the last migration applied; 0 when there is none.
    pub current: i64,
    /// The number of the last migration that this program knows.
    pub latest: i64,
    /// Number and name of those to come.
    pub pending: Vec<(i64, &'static str)>,
}

fn latest() -> i64 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}

fn checksum(migration: &Migration) -> Vec<u8> {
    Digest::of(migration.sql.as_bytes()).as_bytes().to_vec()
}

/// Every migration as one script, for a database administrator to read and run.
pub fn migration_sql(schema: &SchemaName) -> String {
    let mut script = format!(
        "-- Creates the schema of Cofferdam. Run once, on an empty schema.\n\
         BEGIN;\n\
         CREATE SCHEMA IF NOT EXISTS \"{schema}\";\n\
         SET LOCAL search_path = \"{schema}\";\n\n{CREATE_HISTORY};\n"
    );
    for migration in &MIGRATIONS {
        // Writing to a string does not fail.
        let _ = write!(
            script,
            "\n{}\nINSERT INTO schema_migrations (version, name, checksum)\n\
             VALUES ({}, '{}', '\\x{}');\n",
            migration.sql,
            migration.version,
            migration.name,
            Digest::of(migration.sql.as_bytes()),
        );
    }
    script.push_str("\nCOMMIT;\n");
    script
}

#[derive(sqlx::FromRow)]
struct HistoryRow {
    version: i64,
    name: String,
    checksum: Vec<u8>,
}

impl Store {
    /// Applies what is missing, and makes the first partitions. Refuses a schema that is newer
    /// than this program, or that was migrated by other files.
    pub async fn migrate(&self) -> Result<Vec<Applied>, StoreError> {
        let mut applied = Vec::new();
        for migration in &MIGRATIONS {
            applied.extend(self.apply(migration).await?);
        }
        self.check_schema().await?;
        self.ensure_partitions().await?;
        Ok(applied)
    }

    /// Where the schema stands. Reads only.
    pub async fn migration_status(&self) -> Result<MigrationStatus, StoreError> {
        let mut connection = self.pool().acquire().await?;
        let history = self.history(&mut connection).await?.unwrap_or_default();
        let current = history.last().map_or(0, |row| row.version);
        let pending = MIGRATIONS
            .iter()
            .filter(|migration| migration.version > current)
            .map(|migration| (migration.version, migration.name))
            .collect();
        Ok(MigrationStatus {
            schema: self.schema().to_string(),
            current,
            latest: latest(),
            pending,
        })
    }

    /// Whether this program and the schema fit. Reads only.
    pub async fn check_schema(&self) -> Result<(), StoreError> {
        let mut connection = self.pool().acquire().await?;
        let schema = self.schema().to_string();
        let Some(history) = self.history(&mut connection).await? else {
            return Err(SchemaError::NoSchema { schema }.into());
        };
        self.refuse_strange(&history)?;
        let (current, latest) = (history.last().map_or(0, |row| row.version), latest());
        if current == 0 {
            return Err(SchemaError::NoSchema { schema }.into());
        }
        if current < latest {
            return Err(SchemaError::SchemaOlder { schema, current, latest }.into());
        }
        Ok(())
    }

    async fn apply(&self, migration: &Migration) -> Result<Option<Applied>, StoreError> {
        let started = Instant::now();
        let failed = |source| {
            let Migration { version, name, .. } = *migration;
            StoreError::from(SchemaError::Failed { version, name, source })
        };
        let mut transaction = self.begin().await?;
        // A migration of a large table, or the wait for another migrator, takes what it takes.
        sqlx::raw_sql(PATIENTLY).execute(&mut *transaction).await?;
        sqlx::query(LOCK).bind(self.schema().as_str()).execute(&mut *transaction).await?;
        match self.history(&mut transaction).await? {
            Some(history) => {
                self.refuse_strange(&history)?;
                if history.iter().any(|row| row.version == migration.version) {
                    return Ok(None);
                }
            }
            None => self.create_history(&mut transaction).await.map_err(failed)?,
        }
        sqlx::raw_sql(migration.sql).execute(&mut *transaction).await.map_err(failed)?;
        sqlx::query(NOTE)
            .bind(migration.version)
            .bind(migration.name)
            .bind(checksum(migration))
            .execute(&mut *transaction)
            .await
            .map_err(failed)?;
        transaction.commit().await.map_err(failed)?;
        let took = started.elapsed();
        tracing::info!(version = migration.version, name = migration.name, ?took, "migrated");
        Ok(Some(Applied { version: migration.version, name: migration.name, took }))
    }

    /// A schema that the administrator made beforehand is taken as it is: a user without the right
    /// to create schemas may not even say `IF NOT EXISTS`.
    async fn create_history(&self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        let exists: bool =
            sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)")
                .bind(self.schema().as_str())
                .fetch_one(&mut *connection)
                .await?;
        if !exists {
            let create = format!("CREATE SCHEMA \"{}\"", self.schema());
            sqlx::raw_sql(AssertSqlSafe(create)).execute(&mut *connection).await?;
        }
        sqlx::raw_sql(CREATE_HISTORY).execute(connection).await?;
        Ok(())
    }

    /// What was applied, in order; `None` when there is no such table.
    async fn history(
        &self,
        connection: &mut PgConnection,
    ) -> Result<Option<Vec<HistoryRow>>, StoreError> {
        let exists: bool = sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL")
            .bind(format!("\"{}\".schema_migrations", self.schema()))
            .fetch_one(&mut *connection)
            .await?;
        if !exists {
            return Ok(None);
        }
        Ok(Some(sqlx::query_as(HISTORY).fetch_all(connection).await?))
    }

    fn refuse_strange(&self, history: &[HistoryRow]) -> Result<(), SchemaError> {
        let schema = || self.schema().to_string();
        for row in history {
            match MIGRATIONS.iter().find(|migration| migration.version == row.version) {
                None => {
                    return Err(SchemaError::SchemaNewer {
                        schema: schema(),
                        current: history.last().map_or(row.version, |last| last.version),
                        latest: latest(),
                    });
                }
                Some(known) if checksum(known) != row.checksum => {
                    return Err(SchemaError::Changed {
                        schema: schema(),
                        version: row.version,
                        name: row.name.clone(),
                    });
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_are_numbered_from_one_without_gaps() {
        for (expected, migration) in (1_i64..).zip(&MIGRATIONS) {
            assert_eq!(migration.version, expected, "{}", migration.name);
        }
    }
}
