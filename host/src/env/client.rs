//! Settings of commands that talk to a server.

use super::{Fallback, Group, Variable, keyed};

/// The server's URL.
pub(crate) static SERVER: Variable = keyed(
    Group::Client,
    "COFFERDAM_SERVER",
    "server",
    Fallback::Text("http://127.0.0.1:7070"),
    "The server to talk to: the URL up to, not including, `/api/v1`.",
)
.flag("--server");

/// The bearer token.
pub(crate) static TOKEN: Variable = keyed(
    Group::Client,
    "COFFERDAM_TOKEN",
    "token",
    Fallback::Nothing,
    "The bearer token: what a client sends and a server asks for. A server without one listens on \
     the loopback address only. There is no flag: arguments are visible to every process.",
)
.secret();

/// The timeout of one request.
pub(crate) static REQUEST_TIMEOUT: Variable = keyed(
    Group::Client,
    "COFFERDAM_REQUEST_TIMEOUT",
    "request_timeout",
    Fallback::Text("30s"),
    "How long a client waits for the answer to one request. Pushing a module may take ten times \
     as long, because the server compiles it.",
);
