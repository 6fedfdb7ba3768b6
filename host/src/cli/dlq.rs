//! `dlq`.

use super::job::VersionArgs;
use super::module::PageArgs;
use crate::value;
use clap::{Args, Subcommand};
use cofferdam_core::ids::JobId;
use cofferdam_core::name::KindName;
use std::time::Duration;

/// What can be done with dead letters.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum DlqCommand {
    /// List jobs that failed for good, newest first
    #[command(after_help = "Example:\n  cofferdam dlq list --kind thumbnail")]
    List {
        /// Only those of this kind
        #[arg(long, value_name = "KIND", value_parser = value::kind)]
        kind: Option<KindName>,
        /// How many.
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show one: its errors with their backtraces, the end of its log, what it used
    #[command(after_help = "Example:\n  cofferdam dlq show 0197a3c2-5b7e-7d10-8f3a-2c9d4e5f6a7b")]
    Show {
        /// The job's id
        #[arg(value_parser = value::job_id)]
        id: JobId,
    },
    /// Run them again
    #[command(after_help = "\
Examples:
  cofferdam dlq retry 0197a3c2-5b7e-7d10-8f3a-2c9d4e5f6a7b
  cofferdam dlq retry --kind thumbnail --version current
  cofferdam dlq retry --all")]
    Retry {
        /// Which.
        #[command(flatten)]
        which: Which,
        /// Which version they run.
        #[command(flatten)]
        version: VersionArgs,
    },
    /// Delete them for good
    #[command(after_help = "\
Examples:
  cofferdam dlq purge 0197a3c2-5b7e-7d10-8f3a-2c9d4e5f6a7b
  cofferdam dlq purge --kind thumbnail
  cofferdam dlq purge --all --older-than 30d")]
    Purge {
        /// Which.
        #[command(flatten)]
        which: Which,
        /// Only those that ended longer ago than this
        #[arg(long, value_name = "DURATION", value_parser = value::duration)]
        older_than: Option<Duration>,
    },
}

/// Which dead letters; one way to say it is needed.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct Which {
    /// The ids of jobs
    #[arg(value_name = "ID", value_parser = value::job_id)]
    pub(crate) ids: Vec<JobId>,
    /// All of them
    #[arg(long)]
    pub(crate) all: bool,
    /// Those of this kind
    #[arg(long, value_name = "KIND", value_parser = value::kind)]
    pub(crate) kind: Option<KindName>,
}
