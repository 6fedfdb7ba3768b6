//! The handlers, one file a resource. [`crate::router`] says where they are.

pub(crate) mod callbacks;
pub(crate) mod cluster;
pub(crate) mod dlq;
pub(crate) mod docs;
pub(crate) mod health;
pub(crate) mod info;
pub(crate) mod jobs;
pub(crate) mod logs;
pub(crate) mod metrics;
pub(crate) mod modules;
pub(crate) mod outcome;
pub(crate) mod queues;
pub(crate) mod secrets;
pub(crate) mod submit;
pub(crate) mod workers;
