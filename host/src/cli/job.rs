//! `job`.

use super::module::PageArgs;
use crate::input::{self, Input};
use crate::value;
use clap::{Args, Subcommand};
use cofferdam_api::types::RetryVersion;
use cofferdam_core::Time;
use cofferdam_core::ids::JobId;
use cofferdam_core::job::Priority;
use cofferdam_core::module::ModuleRef;
use cofferdam_core::name::{KindName, ModuleName, QueueName};
use cofferdam_core::state::JobState;
use cofferdam_core::wait::CallbackToken;
use std::path::PathBuf;
use std::time::Duration;

/// What can be done with jobs.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum JobCommand {
    /// Submit a job, or many alike, and print the id
    Submit(Box<SubmitArgs>),
    /// List jobs, newest first
    List(ListArgs),
    /// Show a job: its state, attempts, errors and what it used
    #[command(after_help = "Example:\n  cofferdam job show 0197a3c2-5b7e-7d10-8f3a-2c9d4e5f6a7b")]
    Show {
        /// The job's id
        #[arg(value_parser = value::job_id)]
        id: JobId,
    },
    /// Wait until a job has ended
    #[command(after_help = "\
Ends with 0 when the job completed, 1 when it failed, 4 when it trapped or hit a limit, 5 when it
had not ended in time.

Example:
  cofferdam job wait 0197a3c2-5b7e-7d10-8f3a-2c9d4e5f6a7b --timeout 10m")]
    Wait {
        /// The job's id
        #[arg(value_parser = value::job_id)]
        id: JobId,
        /// How long to wait [default: for ever]
        #[arg(long, value_name = "DURATION", value_parser = value::duration)]
        timeout: Option<Duration>,
    },
    /// Print what a job wrote to its log
    #[command(after_help = "\
With --json one object a line.

Examples:
  cofferdam job logs 0197a3c2-5b7e-7d10-8f3a-2c9d4e5f6a7b
  cofferdam job logs -f 0197a3c2-5b7e-7d10-8f3a-2c9d4e5f6a7b")]
    Logs {
        /// The job's id
        #[arg(value_parser = value::job_id)]
        id: JobId,
        /// Go on until the job has ended
        #[arg(long, short)]
        follow: bool,
        /// Only lines of this attempt
        #[arg(long, value_name = "N", value_parser = value::number::<u32>)]
        attempt: Option<u32>,
    },
    /// Print the output of a job, as the handler gave it
    #[command(
        after_help = "Example:\n  cofferdam job output 0197a3c2-5b7e-7d10-8f3a-2c9d4e5f6a7b -o page.html"
    )]
    Output(BytesArgs),
    /// Print the input of a job, as it was submitted
    #[command(after_help = "Example:\n  cofferdam job input 0197a3c2-5b7e-7d10-8f3a-2c9d4e5f6a7b")]
    Input(BytesArgs),
    /// Cancel a job: at once when it waits, within a second when it runs
    #[command(after_help = "Example:\n  cofferdam job cancel 0197a3c2-5b7e-7d10-8f3a-2c9d4e5f6a7b")]
    Cancel {
        /// The job's id
        #[arg(value_parser = value::job_id)]
        id: JobId,
    },
    /// Answer a job that waits for a callback, which goes on then
    #[command(after_help = "\
The handler made the token and told somebody: in its log, or in a request that it sent. It works
once.

Examples:
  cofferdam job answer $TOKEN --input '{\"approved\": true}'
  cofferdam job answer $TOKEN --input @signed.pdf")]
    Answer {
        /// The callback's token
        #[arg(value_parser = value::callback)]
        token: CallbackToken,
        /// What to tell the job: JSON, @FILE for the bytes of a file, - for standard input
        #[arg(long, short, value_name = "JSON|@FILE|-", value_parser = input::parse, allow_hyphen_values = true)]
        input: Option<Input>,
    },
    /// Run a failed, dead or cancelled job again
    #[command(after_help = "\
Examples:
  cofferdam job retry 0197a3c2-5b7e-7d10-8f3a-2c9d4e5f6a7b
  cofferdam job retry 0197a3c2-5b7e-7d10-8f3a-2c9d4e5f6a7b --version current")]
    Retry {
        /// The job's id
        #[arg(value_parser = value::job_id)]
        id: JobId,
        /// Which version it runs.
        #[command(flatten)]
        version: VersionArgs,
    },
}

/// Which version a job that comes back runs.
#[derive(Args, Clone, Debug)]
pub(crate) struct VersionArgs {
    /// `same` as before, whatever is `current`, or the name of a version
    #[arg(long, value_name = "VERSION", value_parser = retry_version, default_value = "same")]
    pub(crate) version: RetryVersion,
}

fn retry_version(text: &str) -> Result<RetryVersion, cofferdam_core::module::RefError> {
    RetryVersion::try_from(text.to_owned())
}

/// `job output` and `job input`.
#[derive(Args, Clone, Debug)]
pub(crate) struct BytesArgs {
    /// The job's id
    #[arg(value_parser = value::job_id)]
    pub(crate) id: JobId,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// `job list`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  cofferdam job list --state running
  cofferdam job list --module images --kind thumbnail -n 200 --json")]
pub(crate) struct ListArgs {
    /// Only jobs in this state
    #[arg(long, value_name = "STATE", value_parser = value::state)]
    pub(crate) state: Option<JobState>,
    /// Only jobs of this kind
    #[arg(long, value_name = "KIND", value_parser = value::kind)]
    pub(crate) kind: Option<KindName>,
    /// Only jobs of this queue
    #[arg(long, value_name = "QUEUE", value_parser = value::queue)]
    pub(crate) queue: Option<QueueName>,
    /// Only jobs of this module
    #[arg(long, value_name = "MODULE", value_parser = value::module_name)]
    pub(crate) module: Option<ModuleName>,
    /// How many.
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

/// `job submit`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Prints the id of the job, or the ids one a line. With --wait it prints the output of the job instead,
as the handler gave it, and ends with 0 when the job completed, 1 when it failed, 4 when it trapped
or hit a limit, 5 when it had not ended in time.

Examples:
  cofferdam job submit markdown --input @README.md --wait > readme.html
  cofferdam job submit thumbnail@1.4.0 --input @photo.jpg --metadata width=64 --deadline 30s
  cofferdam job submit csv-report --input - --delay 10m --queue nightly < rows.csv
  cofferdam job submit misbehave/fail-until --input '{\"attempt\": 3}' --count 1000")]
pub(crate) struct SubmitArgs {
    /// NAME[@VERSION][/KIND]; the kind may be left out when the module has just one
    #[arg(value_parser = value::module_ref)]
    pub(crate) module: ModuleRef,
    /// The input: JSON, @FILE for the bytes of a file, - for standard input
    #[arg(long, short, value_name = "JSON|@FILE|-", value_parser = input::parse, allow_hyphen_values = true)]
    pub(crate) input: Option<Input>,
    /// Wait until the job has ended and print its output
    #[arg(long)]
    pub(crate) wait: bool,
    /// Wait, but no longer than this, such as 30s
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    pub(crate) timeout: Option<Duration>,
    /// Wait, and meanwhile show the log on standard error
    #[arg(long, short, conflicts_with = "count")]
    pub(crate) follow: bool,
    /// The queue [default: that of the kind, or `default`]
    #[arg(long, value_name = "QUEUE", value_parser = value::queue)]
    pub(crate) queue: Option<QueueName>,
    /// 1 (highest) to 4 [default: 2]
    #[arg(long, value_name = "1..4", value_parser = value::priority)]
    pub(crate) priority: Option<Priority>,
    /// Not before this much later, such as 10s
    #[arg(long, value_name = "DURATION", value_parser = value::duration, conflicts_with = "at")]
    pub(crate) delay: Option<Duration>,
    /// Not before this time, such as 2030-01-31T08:00:00Z
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub(crate) at: Option<Time>,
    /// Wall-clock time of each attempt, such as 30s
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    pub(crate) deadline: Option<Duration>,
    /// How often the job may be attempted
    #[arg(long, value_name = "N", value_parser = value::number::<u32>)]
    pub(crate) max_attempts: Option<u32>,
    /// Fuel of each attempt, roughly one unit an instruction
    #[arg(long, value_name = "N", value_parser = value::fuel)]
    pub(crate) fuel: Option<u64>,
    /// Linear memory of each attempt, such as 64MiB
    #[arg(long, value_name = "SIZE", value_parser = value::size)]
    pub(crate) memory: Option<u64>,
    /// An argument of a command job; may be repeated
    #[arg(long = "arg", value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
    /// An environment variable of a command job; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = value::pair)]
    pub(crate) env: Vec<(String, String)>,
    /// What handler and operator shall see; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = value::pair)]
    pub(crate) metadata: Vec<(String, String)>,
    /// How many alike to submit
    #[arg(long, value_name = "N", value_parser = value::number::<u32>, default_value = "1", conflicts_with = "id")]
    pub(crate) count: u32,
    /// The id, a UUID: submitting twice with the same one is submitting once
    #[arg(long, value_name = "UUID", value_parser = value::job_id)]
    pub(crate) id: Option<JobId>,
}
