//! The limits of an attempt.

use cofferdam_core::limits::Limits;
use cofferdam_core::units;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::ToSchema;

/// What one attempt may use, as resolved from the job, its kind, the defaults and the caps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitsView {
    /// Wall-clock time.
    #[serde(with = "units::duration")]
    #[schema(value_type = String, examples("5m"))]
    pub deadline: Duration,
    /// Fuel units.
    pub fuel: u64,
    /// Bytes of linear memory.
    pub memory_bytes: u64,
    /// Bytes of output.
    pub output_bytes: u64,
    /// Bytes of log that are kept.
    pub log_bytes: u64,
}

impl From<&Limits> for LimitsView {
    fn from(limits: &Limits) -> Self {
        Self {
            deadline: limits.deadline,
            fuel: limits.fuel,
            memory_bytes: limits.memory_bytes,
            output_bytes: limits.output_bytes,
            log_bytes: limits.log_bytes,
        }
    }
}
