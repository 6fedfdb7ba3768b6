//! Settings of the HTTP server.

use super::{Fallback, Group, Variable, keyed, only};

/// The configuration file.
pub(crate) static CONFIG: Variable = only(
    Group::Server,
    "COFFERDAM_CONFIG",
    Fallback::Nothing,
    "A TOML file with the keys of this page. There is no default path: `cofferdam.toml` is the \
     manifest of a module, and one found by chance must not configure a server.",
)
.flag("--config");

/// Where the server listens.
pub(crate) static LISTEN: Variable = keyed(
    Group::Server,
    "COFFERDAM_LISTEN",
    "listen",
    Fallback::Text("127.0.0.1:7070"),
    "The address that the HTTP server listens on. Port 0 lets the system choose one.",
)
.flag("--listen");
