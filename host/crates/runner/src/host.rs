//! What a running guest may ask of the platform.

use crate::error::chain;
use crate::logs::Buffer;
use async_trait::async_trait;
use cofferdam_core::history::bounded_text;
use cofferdam_core::ids::LeaseKey;
use cofferdam_core::limits::MAX_CHECKPOINT;
use cofferdam_core::log::LogLine;
use cofferdam_core::units::format_size;
use cofferdam_sandbox::AttemptHost;
use cofferdam_store::{Store, StoreError};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tracing::{trace, warn};

/// The longest note of a report of progress that is kept, in bytes.
const MAX_NOTE: usize = 1024;

/// What a guest is told when its attempt is no longer the newest of the job.
const LEASE_LOST: &str = "this attempt has lost its lease";

/// The platform as one attempt sees it.
pub(crate) struct Host {
    pub(crate) key: LeaseKey,
    pub(crate) store: Store,
    pub(crate) buffer: Arc<Buffer>,
    /// Database calls run on this runtime, to their end, even when the guest that asked is
    /// killed meanwhile: a kill must not leave a connection in the middle of a statement.
    pub(crate) control: Handle,
    /// How long the attempt may run in all.
    pub(crate) deadline_cap: Duration,
}

impl Host {
    async fn ask<T: Send + 'static>(
        &self,
        call: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, String> {
        let answer = self.control.spawn(call).await;
        // The guest is told that it failed, not why: our errors are the operator's.
        answer.map_err(|_| "the host failed".to_owned())?.map_err(|error| {
            warn!(job = %self.key.job, error = chain(&error), "a host call of a guest failed");
            "the host could not reach its database".to_owned()
        })
    }
}

#[async_trait]
impl AttemptHost for Host {
    fn log(&self, line: LogLine) {
        // For whoever runs the worker in front of them, or must see what a guest did although the
        // worker died before it could write it down.
        trace!(target: "cofferdam_guest", lease = %self.key, message = line.message);
        self.buffer.push(line);
    }

    fn progress(&self, percent: u8, note: String) {
        self.buffer.progress(percent.min(100), bounded_text(&note, MAX_NOTE));
    }

    async fn checkpoint(&self, bytes: Vec<u8>) -> Result<(), String> {
        if bytes.len() as u64 > MAX_CHECKPOINT {
            return Err(format!("a checkpoint may be at most {}", format_size(MAX_CHECKPOINT)));
        }
        let (store, key) = (self.store.clone(), self.key);
        if self.ask(async move { store.checkpoint(key, &bytes).await }).await? {
            Ok(())
        } else {
            Err(LEASE_LOST.to_owned())
        }
    }

    async fn extend_deadline(&self, by: Duration) -> Result<Duration, String> {
        let (store, key, cap) = (self.store.clone(), self.key, self.deadline_cap);
        self.ask(async move { store.extend_deadline(key, by, cap).await })
            .await?
            .ok_or_else(|| LEASE_LOST.to_owned())
    }
}
