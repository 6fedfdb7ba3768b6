//! Settings of every role that opens the database.

use super::{Fallback, Group, Variable, keyed, only};

/// The database.
pub(crate) static DATABASE_URL: Variable = keyed(
    Group::Database,
    "COFFERDAM_DATABASE_URL",
    "database_url",
    Fallback::Nothing,
    "The Postgres database, such as `postgres://user@host/cofferdam`. Where neither this variable \
     nor the key is set, `DATABASE_URL` is read; not by `cofferdam dev`, which starts a private \
     Postgres then.",
)
.flag("--database-url")
.secret();

/// The variable that other tools use for the database.
pub(crate) static PLAIN_DATABASE_URL: Variable = only(
    Group::Database,
    "DATABASE_URL",
    Fallback::Nothing,
    "Read where `COFFERDAM_DATABASE_URL` is not set, except by `cofferdam dev`.",
)
.secret();

/// The schema of the tables.
pub(crate) static SCHEMA: Variable = keyed(
    Group::Database,
    "COFFERDAM_SCHEMA",
    "schema",
    Fallback::Text("cofferdam"),
    "The Postgres schema that holds the tables. Several installations can share a database.",
)
.flag("--schema");

/// The size of the connection pool.
pub(crate) static MAX_CONNECTIONS: Variable = keyed(
    Group::Database,
    "COFFERDAM_MAX_CONNECTIONS",
    "max_connections",
    Fallback::Text("16"),
    "The most connections that one process keeps open.",
);

/// The timeout of a statement.
pub(crate) static STATEMENT_TIMEOUT: Variable = keyed(
    Group::Database,
    "COFFERDAM_STATEMENT_TIMEOUT",
    "statement_timeout",
    Fallback::Text("30s"),
    "How long one SQL statement may run. Stops a lock held elsewhere from holding a worker for ever.",
);

/// The wait for a free connection.
pub(crate) static ACQUIRE_TIMEOUT: Variable = keyed(
    Group::Database,
    "COFFERDAM_ACQUIRE_TIMEOUT",
    "acquire_timeout",
    Fallback::Text("30s"),
    "How long to wait for a free connection of the pool.",
);
