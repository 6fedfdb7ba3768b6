//! What can go wrong between here and the database.

use crate::migrate::SchemaError;
use cofferdam_core::hint::Hint;
use cofferdam_core::ids::JobId;
use cofferdam_core::module::VersionName;
use cofferdam_core::name::ModuleName;
use sqlx::error::DatabaseError;
use std::borrow::Cow;
use std::time::Duration;
use thiserror::Error;

/// An error that some part of the program made, boxed to be passed on.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// What can go wrong between here and the database.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The URL is not one.
    #[error("the database URL cannot be read")]
    Url(#[source] sqlx::Error),
    /// The name could not stand in a statement.
    #[error("`{0}` is not a valid schema name")]
    SchemaName(String),
    /// No connection could be opened.
    #[error("cannot connect to Postgres at {target}")]
    Connect {
        /// Host, port and database, without credentials.
        target: String,
        /// Why not.
        #[source]
        source: sqlx::Error,
    },
    /// Every connection of the pool is busy, or the database does not answer.
    #[error("no database connection became free in time")]
    PoolTimeout,
    /// The database did not answer within the caller's bound.
    #[error("the database did not answer within {0:?}")]
    Timeout(Duration),
    /// A table that the migrations make is not there.
    #[error("the database schema is incomplete")]
    NotMigrated(#[source] sqlx::Error),
    /// The database refused a statement, or the connection broke.
    #[error("a database statement failed")]
    Database(#[source] sqlx::Error),
    /// The schema does not fit this program.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// Another component was published under this name.
    #[error("`{name}@{version}` exists already with other contents")]
    VersionConflict {
        /// The module.
        name: ModuleName,
        /// The version.
        version: VersionName,
    },
    /// There is no such module.
    #[error("there is no module `{0}`")]
    NoSuchModule(ModuleName),
    /// There is no such version.
    #[error("there is no version `{name}@{version}`")]
    NoSuchVersion {
        /// The module.
        name: ModuleName,
        /// The version.
        version: VersionName,
    },
    /// Jobs that have not ended need it.
    #[error("{what} is needed by jobs that have not ended: {jobs}")]
    InUse {
        /// What was to be deleted.
        what: String,
        /// How many jobs, `1` to `1000 or more`.
        jobs: String,
    },
    /// A job of another tenant has this id.
    #[error("the job id {0} is taken")]
    JobIdTaken(JobId),
    /// The row moved each time that it was looked for.
    #[error("the job {0} changed its state faster than it could be read")]
    Contended(JobId),
    /// A row holds what this version cannot read: another version wrote it.
    #[error("the database holds a {what} that this version cannot read")]
    Unreadable {
        /// Which part of which row.
        what: &'static str,
        /// Why not.
        #[source]
        source: Cause,
    },
    /// A value has no form in the database.
    #[error("a {what} cannot be stored")]
    Unstorable {
        /// Which value.
        what: &'static str,
        /// Why not.
        #[source]
        source: serde_json::Error,
    },
}

/// SQLSTATE 42P01 and 3F000: the relation or the schema does not exist.
const MISSING: [&str; 2] = ["42P01", "3F000"];
/// Classes of SQLSTATE that pass: connection exceptions, transaction rollback (serialisation,
/// deadlock), insufficient resources, operator intervention (shutdown).
const TRANSIENT_CLASSES: [&str; 4] = ["08", "40", "53", "57"];
/// Single ones that pass: lock not available, idle-in-transaction timeout.
const TRANSIENT: [&str; 2] = ["55P03", "25P03"];
/// Those that a statement brings upon itself by its size: statement timeout, out of memory, a limit
/// of the program, a message that is too long. They do not pass, although their classes do.
const OVERLOAD: [&str; 4] = ["57014", "53200", "54000", "08P01"];

/// There is no space on a disk of the server's.
const FULL: &str = "53100";

pub(crate) fn sqlstate(error: &sqlx::Error) -> Option<Cow<'_, str>> {
    error.as_database_error().and_then(DatabaseError::code)
}

fn is_overload(error: &sqlx::Error) -> bool {
    sqlstate(error).is_some_and(|code| OVERLOAD.contains(&code.as_ref()))
}

pub(crate) fn is_transient(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => true,
        _ if is_overload(error) => false,
        _ => sqlstate(error).is_some_and(|code| {
            TRANSIENT.contains(&code.as_ref())
                || TRANSIENT_CLASSES.iter().any(|class| code.starts_with(class))
        }),
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        if matches!(error, sqlx::Error::PoolTimedOut) {
            Self::PoolTimeout
        } else if sqlstate(&error).is_some_and(|code| MISSING.contains(&code.as_ref())) {
            Self::NotMigrated(error)
        } else {
            Self::Database(error)
        }
    }
}

impl StoreError {
    /// Whether the same call may succeed a little later: the connection was lost, the pool was
    /// busy, two transactions met, the server is restarting.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Connect { source, .. } | Self::Database(source) => is_transient(source),
            Self::PoolTimeout | Self::Timeout(_) | Self::Contended(_) => true,
            _ => false,
        }
    }

    /// Whether a disk of the database is full. Transient, because somebody makes space sooner or
    /// later, but whoever waits should know what for.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Database(source) if sqlstate(source).as_deref() == Some(FULL))
    }

    /// Whether the call was too much for the database: it took longer, or needed more memory or a
    /// longer message than is allowed. The same call would fail again and again, so this is not
    /// transient; a smaller one may succeed. Whoever wrote a batch writes its halves.
    pub fn is_overload(&self) -> bool {
        matches!(self, Self::Database(source) if is_overload(source))
    }
}

impl Hint for StoreError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Url(_) => "write it like postgres://user:password@localhost:5432/database",
            Self::SchemaName(_) => {
                "use 1 to 48 lower-case letters, digits and `_`, starting with a letter"
            }
            Self::Connect { source, .. } => match sqlstate(source).as_deref() {
                Some("28P01" | "28000") => "check the user and the password in the database URL",
                Some("3D000") => "create the database, or check its name in the database URL",
                Some("53300") => "raise max_connections in Postgres, or lower the pool's own",
                _ => {
                    "check that Postgres is running and that the host and port in the database \
                     URL are right"
                }
            },
            Self::Schema(error) => return error.hint(),
            Self::VersionConflict { .. } => {
                "a version never changes: publish under another version, or leave it out to have \
                 one counted up"
            }
            Self::NoSuchModule(_) => "`cofferdam module list` shows what is there",
            Self::NoSuchVersion { name, .. } => {
                return Some(format!("`cofferdam module show {name}` lists its versions"));
            }
            Self::InUse { .. } => "wait until they have ended, or cancel them",
            Self::PoolTimeout => "check that Postgres answers; raise max_connections if it does",
            Self::Timeout(_) => "check that Postgres answers, and how busy it is",
            Self::NotMigrated(_) => "run `cofferdam migrate up`",
            Self::JobIdTaken(_) => "let the server make the id, or use a random UUIDv7",
            Self::Unreadable { .. } => "run the version of Cofferdam that wrote it, or a later one",
            Self::Database(_) if self.is_full() => {
                "free space where Postgres keeps its data, and try again"
            }
            Self::Database(_) | Self::Contended(_) | Self::Unstorable { .. } => return None,
        };
        Some(hint.to_owned())
    }
}
