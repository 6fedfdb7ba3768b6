//! The log of the roles, on standard error.

use crate::config::Config;
use crate::env;
use crate::error::{CommandError, Result};
use std::io::{self, IsTerminal as _};
use tracing_subscriber::EnvFilter;

/// What a role logs when nobody says.
pub(crate) const DEFAULT: &str = "info";
/// The same for `dev`, which a person watches who wants to see what is wrong and nothing else.
pub(crate) const DEV: &str = "warn";

/// Starts the log. Once in a process.
pub(crate) fn start(config: &mut Config, default: &str) -> Result<()> {
    let filter = config.get_or(&env::LOG, None, || default.to_owned())?;
    let format: String = config.get(&env::LOG_FORMAT, None)?;
    let filter = EnvFilter::try_new(&filter).map_err(|error| {
        CommandError::usage(format!("{} is not usable", env::LOG.name))
            .cause(error.to_string())
            .hint("write a level such as info, or info,cofferdam_runner=debug")
    })?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    let started = match format.as_str() {
        "json" => log.json().flatten_event(true).try_init(),
        "text" => log.with_ansi(io::stderr().is_terminal()).with_target(false).try_init(),
        other => {
            return Err(CommandError::usage(format!("{} is `{other}`", env::LOG_FORMAT.name))
                .hint("write text or json"));
        }
    };
    started.map_err(|error| CommandError::failed("cannot start the log").cause(error.to_string()))
}
