//! The command line: every command, flag and example. What they do is in `commands`.
#![expect(clippy::doc_markdown, reason = "these comments are the help, shown as they stand")]

pub(crate) mod dlq;
pub(crate) mod job;
pub(crate) mod module;
pub(crate) mod queue;
pub(crate) mod roles;
pub(crate) mod run;
pub(crate) mod secret;

use crate::exit;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cofferdam dev                                            start everything on this machine
  cofferdam module push markdown.wasm --name markdown      upload a handler
  cofferdam job submit markdown --input @README.md --wait  run it and print what it returns
  cofferdam dlq list                                       see what failed for good";

/// Run untrusted jobs in WebAssembly sandboxes, queued in Postgres
#[derive(Debug, Parser)]
#[command(
    name = "cofferdam",
    version,
    about,
    after_help = format!("{EXAMPLES}\n\n{}", exit::MEANINGS),
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    /// What every command takes.
    #[command(flatten)]
    pub(crate) global: Global,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The flags of every command.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// The server to talk to [env: COFFERDAM_SERVER] [default: http://127.0.0.1:7070]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// A file of settings [env: COFFERDAM_CONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON: one object or array, or one object a line for streams
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print data and errors, nothing else
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Whether to use colours
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t)]
    pub(crate) color: Color,
}

/// Whether to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    // On terminals that have them, unless `NO_COLOR` is set.
    #[default]
    Auto,
    // Always.
    Always,
    // Never.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start Postgres, a server and a worker on this machine, in one process
    Dev(roles::DevArgs),
    /// Run a module once, here, under the limits of a job; needs no server
    Run(run::RunArgs),
    /// Push, list and inspect modules
    #[command(
        subcommand,
        visible_alias = "modules",
        after_help = "\
Examples:
  cofferdam module push markdown.wasm --name markdown
  cofferdam module show markdown"
    )]
    Module(module::ModuleCommand),
    /// Submit, follow, cancel and retry jobs
    #[command(
        subcommand,
        visible_alias = "jobs",
        after_help = "\
Examples:
  cofferdam job submit markdown --input @README.md --wait
  cofferdam job list --state running"
    )]
    Job(job::JobCommand),
    /// Look at jobs that failed for good, and bring them back
    #[command(
        subcommand,
        after_help = "\
Examples:
  cofferdam dlq list
  cofferdam dlq retry --kind thumbnail --version current"
    )]
    Dlq(dlq::DlqCommand),
    /// List, pause and resume queues
    #[command(
        subcommand,
        visible_alias = "queues",
        after_help = "\
Examples:
  cofferdam queue list
  cofferdam queue pause images"
    )]
    Queue(queue::QueueCommand),
    /// Set, list and delete the secrets that jobs are given
    #[command(
        subcommand,
        visible_alias = "secrets",
        after_help = "\
Examples:
  cofferdam secret set API_KEY < api-key.txt
  cofferdam secret list"
    )]
    Secret(secret::SecretCommand),
    /// Run a worker, or look after those that run
    Worker(roles::WorkerArgs),
    /// Show who leads, what runs and whether somebody runs it, and what the sweeps did
    #[command(
        after_help = "Examples:\n  cofferdam cluster\n  cofferdam cluster --json | jq .orphaned"
    )]
    Cluster,
    /// Run the HTTP server
    Server(roles::ServerArgs),
    /// Bring the database schema up to date
    Migrate(roles::MigrateArgs),
    /// Check what this machine, the database and the settings are fit for
    Doctor(roles::DoctorArgs),
    /// Run one attempt on behalf of a worker; not meant for people
    #[command(
        hide = true,
        after_help = "Workers run this for jobs that were lost once. For people there is `cofferdam run`."
    )]
    Attempt {
        /// The worker's process
        #[arg(long, value_name = "PID")]
        parent: Option<u32>,
    },
    /// Print a script that completes commands and flags in a shell
    #[command(
        after_help = "Example:\n  cofferdam completion bash > ~/.local/share/bash-completion/completions/cofferdam"
    )]
    Completion {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_tree_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_an_example() {
        fn walk(command: &clap::Command, path: &str) {
            let path = format!("{path} {}", command.get_name());
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("cofferdam "), "{path} has no example");
            for sub in command.get_subcommands() {
                walk(sub, &path);
            }
        }
        walk(&Cli::command(), "");
    }
}
