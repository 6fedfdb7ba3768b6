//! `secret`.

use crate::value;
use clap::Subcommand;
use cofferdam_core::secret::SecretName;

/// What can be done with secrets.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum SecretCommand {
    /// Set a secret to what is on standard input, in the place of the one of its name
    #[command(after_help = "\
The value is UTF-8 text of at most 64 KiB. One line break at its end is taken away, and no more than
that one. It is never an argument: those are visible to every process, and stay in the history of
the shell. Jobs are given it by the grants of their module's manifest: secrets = [\"API_KEY\"].

Examples:
  cofferdam secret set API_KEY < api-key.txt
  pass show api.example.com | cofferdam secret set API_KEY")]
    Set {
        /// The secret's name: letters, digits and `_`, starting with a letter
        #[arg(value_parser = value::secret)]
        name: SecretName,
    },
    /// List the names of secrets, and when they were set; values are shown to nobody
    #[command(after_help = "Example:\n  cofferdam secret list")]
    List,
    /// Delete a secret; attempts that have its value keep it until they end
    #[command(after_help = "Example:\n  cofferdam secret delete API_KEY")]
    Delete {
        /// The secret's name
        #[arg(value_parser = value::secret)]
        name: SecretName,
    },
}
