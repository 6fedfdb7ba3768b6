//! `cofferdam:job/control`.

use crate::bindings::{control, types};
use crate::host::HostCall;
use crate::kill::KillReason;
use crate::state::State;
use crate::text::kept;
use cofferdam_core::limits::MAX_CHECKPOINT;
use cofferdam_core::units::format_size;
use std::time::{Duration, Instant};

/// The longest progress note kept, in bytes: it is a column of a list.
const MAX_NOTE: usize = 1024;

impl types::Host for State {}

impl control::Host for State {
    fn progress(&mut self, percent: u8, note: String) -> wasmtime::Result<()> {
        let _within = self.vitals.enter(HostCall::Progress)?;
        self.host.progress(percent.min(100), kept(&note, MAX_NOTE));
        Ok(())
    }

    async fn checkpoint(&mut self, bytes: Vec<u8>) -> wasmtime::Result<Result<(), String>> {
        let size = bytes.len() as u64;
        if size > MAX_CHECKPOINT {
            return Ok(Err(format!(
                "the checkpoint is {size} bytes, more than the {} that are kept",
                format_size(MAX_CHECKPOINT)
            )));
        }
        let _within = self.vitals.enter(HostCall::Checkpoint)?;
        let answer = self.host.checkpoint(bytes.clone()).await;
        if answer.is_ok() {
            self.checkpoint = Some(bytes);
        }
        Ok(answer)
    }

    fn last_checkpoint(&mut self) -> wasmtime::Result<Option<Vec<u8>>> {
        Ok(self.checkpoint.clone())
    }

    async fn extend_deadline(&mut self, ms: u64) -> wasmtime::Result<Result<u64, String>> {
        let _within = self.vitals.enter(HostCall::ExtendDeadline)?;
        // The lease's time counts from some moment after this one. Counted from the answer, it
        // would end here later than the lease does.
        let asked = Instant::now();
        let remaining = match self.host.extend_deadline(Duration::from_millis(ms)).await {
            Ok(remaining) => remaining,
            Err(error) => return Ok(Err(error)),
        };
        // A time that no clock can hold is as good as the present deadline.
        if let Some(at) = asked.checked_add(remaining) {
            self.vitals.deadline.set(at);
        }
        Ok(Ok(millis(self.vitals.deadline.left())))
    }

    fn remaining_ms(&mut self) -> wasmtime::Result<u64> {
        Ok(millis(self.vitals.deadline.left()))
    }

    fn cancelled(&mut self) -> wasmtime::Result<bool> {
        Ok(self.vitals.kill.reason(Instant::now()) == Some(KillReason::Cancelled))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
