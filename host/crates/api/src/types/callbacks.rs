//! Callbacks.

use cofferdam_core::ids::JobId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a callback did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallbackAnswer {
    /// The job that goes on.
    #[schema(value_type = String, format = Uuid)]
    pub job: JobId,
}
