//! `queue`.

use crate::value;
use clap::Subcommand;
use cofferdam_core::name::QueueName;

/// What can be done with queues.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum QueueCommand {
    /// List queues and how full they are
    #[command(after_help = "Example:\n  cofferdam queue list")]
    List,
    /// Stop claims from a queue; what runs goes on
    #[command(after_help = "Example:\n  cofferdam queue pause images")]
    Pause {
        /// The queue
        #[arg(value_parser = value::queue)]
        queue: QueueName,
    },
    /// Let workers claim from a queue again
    #[command(after_help = "Example:\n  cofferdam queue resume images")]
    Resume {
        /// The queue
        #[arg(value_parser = value::queue)]
        queue: QueueName,
    },
}
