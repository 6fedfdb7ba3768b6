//! What a server is.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A server, its contract with guests and its database schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Info {
    /// The version of the executable.
    pub version: String,
    /// The version of the guest contract `cofferdam:job` that is offered.
    pub wit_version: String,
    /// The name of the Postgres schema.
    pub schema: String,
    /// The number of the last migration that the schema has.
    pub schema_version: i64,
    /// The address that the server listens on.
    pub listen: String,
}
