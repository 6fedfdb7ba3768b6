//! Jobs, from the submission to the end and back.
//!
//! In the order of a job's life: `enqueue` -> `promote` -> `claim` -> `heartbeat` -> `finish`; and
//! where that line breaks or waits, `rescue`, `cancel`, `hold`, `suspended`, `revive`. The rest reads.

mod attempt;
mod cancel;
mod claim;
mod cursor;
mod detail;
mod dlq;
mod enqueue;
mod finish;
mod heartbeat;
mod hold;
mod list;
mod promote;
mod quarantine;
mod rescue;
mod revive;
mod settle;
mod states;
mod suspended;

pub use attempt::Progress;
pub use cancel::Cancel;
pub use claim::{ClaimRequest, Claimed};
pub use cursor::ClaimCursor;
pub use detail::{JobDetail, JobProgress, RanVersion};
pub use dlq::{DlqEntry, DlqFilter, DlqSummary};
pub(crate) use enqueue::EnqueueSql;
pub use enqueue::{EnqueueJob, Enqueued, enqueue_in};
pub use finish::{Finish, FinishEnd, Finished};
pub use heartbeat::{Beat, Heartbeats};
pub use list::{JobFilter, JobSummary, Page};
pub use rescue::{LostLease, RescueKind, Rescued};
pub use revive::Revive;
