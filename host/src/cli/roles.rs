//! `dev`, `server`, `worker`, `migrate` and `doctor`.
#![expect(clippy::doc_markdown, reason = "these comments are the help, shown as they stand")]

use crate::value::{self, Queues, Value as _};
use clap::{Args, Subcommand};
use cofferdam_core::ids::WorkerId;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Where the database is.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct DatabaseArgs {
    /// The Postgres database [env: COFFERDAM_DATABASE_URL, DATABASE_URL]
    #[arg(long, value_name = "URL")]
    pub(crate) database_url: Option<String>,
    /// The schema of the tables [env: COFFERDAM_SCHEMA] [default: cofferdam]
    #[arg(long, value_name = "NAME")]
    pub(crate) schema: Option<String>,
}

/// `dev`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "\
Postgres is looked for on the PATH and in the usual folders, and runs privately in the data folder.
What is in it stays there between starts, and so does the key that seals secrets: the file
installation.key beside it, unless COFFERDAM_KEY or COFFERDAM_KEY_FILE is set. DATABASE_URL is not
read here: one that lies about in a shell is for something else. Not for production.

Examples:
  cofferdam dev
  cofferdam dev --listen 127.0.0.1:8080 --slots 8
  cofferdam dev --database-url postgres://me@localhost/dev   use a Postgres that runs already
  cofferdam dev --fresh                                      start from nothing",
    // The arguments are shared with roles that read one variable more.
    mut_arg("database_url", |arg| {
        arg.help("A Postgres that runs already, instead of a private one [env: COFFERDAM_DATABASE_URL]")
    })
)]
pub(crate) struct DevArgs {
    /// Where the private Postgres is kept [env: COFFERDAM_DATA_DIR] [default: .cofferdam]
    #[arg(long, value_name = "DIR", conflicts_with = "database_url")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Where to listen [env: COFFERDAM_LISTEN] [default: 127.0.0.1:7070]
    #[arg(long, value_name = "ADDRESS", value_parser = value::address)]
    pub(crate) listen: Option<SocketAddr>,
    /// How many jobs run at once [env: COFFERDAM_SLOTS] [default: 32]
    #[arg(long, value_name = "N", value_parser = value::number::<usize>)]
    pub(crate) slots: Option<usize>,
    /// The database to use, instead of a private one.
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    /// Delete the private Postgres and what is in it first
    #[arg(long, conflicts_with = "database_url")]
    pub(crate) fresh: bool,
}

/// `server`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
The server compiles and checks what is pushed, accepts jobs and answers questions; workers run them.
It needs the schema that `cofferdam migrate` makes, and COFFERDAM_TOKEN to listen on more than
the loopback address.

Example:
  COFFERDAM_TOKEN=... cofferdam server --listen 0.0.0.0:7070 --database-url postgres://db/cofferdam")]
pub(crate) struct ServerArgs {
    /// Where to listen [env: COFFERDAM_LISTEN] [default: 127.0.0.1:7070]
    #[arg(long, value_name = "ADDRESS", value_parser = value::address)]
    pub(crate) listen: Option<SocketAddr>,
    /// The database.
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
}

/// `worker`, the role and the noun.
#[derive(Args, Clone, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Without a subcommand this process becomes a worker. On SIGTERM or Ctrl-C it takes no more jobs,
waits for what it runs and gives back the rest; a second signal ends it at once. Run it under
something that starts it again when it ends with another code than 0: it gives itself up with 70
when guests hold threads that it cannot get back.

Examples:
  cofferdam worker --database-url postgres://db/cofferdam --slots 16
  cofferdam worker --queues images,reports
  cofferdam worker list"
)]
pub(crate) struct WorkerArgs {
    /// What to do instead of running one.
    #[command(subcommand)]
    pub(crate) command: Option<WorkerCommand>,
    /// How many jobs run at once [env: COFFERDAM_SLOTS] [default: 32]
    #[arg(long, value_name = "N", value_parser = value::number::<usize>)]
    pub(crate) slots: Option<usize>,
    /// Only jobs of these queues, separated by commas [env: COFFERDAM_QUEUES] [default: all]
    #[arg(long, value_name = "NAMES", value_parser = Queues::read)]
    pub(crate) queues: Option<Queues>,
    /// The database.
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
}

/// What can be done with workers.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum WorkerCommand {
    /// List the workers that are registered, and say when jobs run on none of them
    #[command(after_help = "Example:\n  cofferdam worker list --json")]
    List,
    /// Let a worker end what it runs, give back the rest, and leave; no attempt is counted
    #[command(after_help = "\
The same as SIGTERM to its process: it waits for what it runs as long as its COFFERDAM_DRAIN_GRACE.

Example:
  cofferdam worker drain 0197a3c2-5b7e-7d10-8f3a-2c9d4e5f6a7b")]
    Drain {
        /// The worker's id
        #[arg(value_parser = value::worker_id)]
        id: WorkerId,
    },
    /// Declare a worker dead and take its jobs back now, with a crash counted for each
    #[command(after_help = "\
For a machine that is known to be gone, before its heartbeats go stale. Should the process live all
the same, it kills its guests as soon as it hears of it, and comes back under a new id.

Example:
  cofferdam worker evict 0197a3c2-5b7e-7d10-8f3a-2c9d4e5f6a7b")]
    Evict {
        /// The worker's id
        #[arg(value_parser = value::worker_id)]
        id: WorkerId,
    },
}

/// `migrate`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Migrations go forward only, and an executable refuses a schema newer than itself.

Examples:
  cofferdam migrate                 bring the schema up to date
  cofferdam migrate status          see what is applied and what is not
  cofferdam migrate sql > all.sql   read what would be run")]
pub(crate) struct MigrateArgs {
    /// What to do; `up` when left out.
    #[command(subcommand)]
    pub(crate) command: Option<MigrateCommand>,
    /// The database.
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
}

/// What can be done with migrations.
#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum MigrateCommand {
    /// Apply what is missing (the default)
    #[command(
        after_help = "Example:\n  cofferdam migrate --database-url postgres://db/cofferdam up"
    )]
    Up,
    /// Say which migration the schema has; fails when some are missing
    #[command(after_help = "Example:\n  cofferdam migrate status --json")]
    Status,
    /// Print the SQL of all migrations; needs no database
    #[command(after_help = "Example:\n  cofferdam migrate sql > all.sql")]
    Sql,
}

/// `doctor`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Each check says what it found and, where it is not well, what to do. Ends with 1 when a check failed.

Examples:
  cofferdam doctor
  cofferdam doctor --json | jq '.checks[] | select(.status != \"ok\")'")]
pub(crate) struct DoctorArgs {
    /// The database.
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
}
