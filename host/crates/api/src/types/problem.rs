//! The body of every answer that is an error.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A problem as RFC 9457 describes it (`application/problem+json`), with members of our own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(title = "Problem")]
pub struct ProblemBody {
    /// Always `about:blank`: `code` says what it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status in words.
    pub title: String,
    /// The HTTP status, again.
    pub status: u16,
    /// What went wrong, for programs: a stable word such as `no-such-job`.
    pub code: String,
    /// What went wrong, for people.
    pub detail: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The request's id, as in the header `x-request-id` and in the server's log.
    pub request_id: String,
    /// The field of the request that is wrong, such as `jobs[3].priority`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}
