//! Queues.

use cofferdam_core::Time;
use cofferdam_core::name::QueueName;
use cofferdam_store::QueueInfo;
use cofferdam_store::queues::MAX_COUNT;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::ToSchema;

/// A queue and how full it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueueView {
    /// Its name.
    #[schema(value_type = String)]
    pub name: QueueName,
    /// Whether claims skip it.
    pub paused: bool,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub paused_at: Option<Time>,
    /// How many jobs are claimable, counted no further than 10,000.
    pub ready_at_least: u64,
    /// Whether the count stopped there.
    pub capped: bool,
    /// How many jobs are running.
    pub running: u64,
    /// For how long its oldest claimable job has been due, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_ready_age_ms: Option<u64>,
}

impl From<QueueInfo> for QueueView {
    fn from(queue: QueueInfo) -> Self {
        let millis = |age: Duration| u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        Self {
            name: queue.name,
            paused: queue.paused_at.is_some(),
            paused_at: queue.paused_at,
            ready_at_least: queue.ready,
            capped: queue.ready >= MAX_COUNT,
            running: queue.running,
            oldest_ready_age_ms: queue.oldest_ready.map(millis),
        }
    }
}
