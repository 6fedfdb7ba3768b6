//! Settings of what is logged and shown.

use super::{Fallback, Group, Variable, keyed, only};

/// What is logged.
pub(crate) static LOG: Variable = keyed(
    Group::Output,
    "COFFERDAM_LOG",
    "log",
    Fallback::Computed("`info`, and `warn` for `cofferdam dev`"),
    "What the roles log to standard error: a level (`error`, `warn`, `info`, `debug`, `trace`) or \
     levels for single parts, such as `info,cofferdam_runner=debug`.",
);

/// The form of the log.
pub(crate) static LOG_FORMAT: Variable = keyed(
    Group::Output,
    "COFFERDAM_LOG_FORMAT",
    "log_format",
    Fallback::Text("text"),
    "`text` for people or `json`, one object a line, for collectors.",
);

/// Progress bars.
pub(crate) static NO_PROGRESS: Variable = only(
    Group::Output,
    "COFFERDAM_NO_PROGRESS",
    Fallback::Nothing,
    "Set to anything, it hides progress bars. They are hidden anyway with `--quiet` and `--json` \
     and where standard error is no terminal.",
);
