//! Calling a handler: `cofferdam:job/handler`.

use crate::attempt::JobInfo;
use crate::bindings::{GuestJobInfo, JobError, RetryAdvice as Advice};
use crate::text::kept;
use cofferdam_core::class::FailureClass;
use cofferdam_core::history::{MAX_CODE, MAX_MESSAGE};
use cofferdam_core::outcome::{Failure, RetryAdvice};
use std::time::Duration;

impl From<JobInfo> for GuestJobInfo {
    fn from(info: JobInfo) -> Self {
        Self {
            id: info.id,
            kind: info.kind,
            queue: info.queue,
            tenant: info.tenant,
            attempt: info.attempt,
            max_attempts: info.max_attempts,
            priority: info.priority,
            created_at: info.created_at,
            deadline_ms: info.deadline_ms,
            idempotency_key: info.idempotency_key,
            workflow: info.workflow,
            metadata: info.metadata,
        }
    }
}

/// The failure that a handler's own error amounts to.
pub(crate) fn failure(error: &JobError) -> Failure {
    let (class, advice) = match error.retry {
        Advice::Default => (FailureClass::Error, RetryAdvice::Default),
        Advice::AfterMs(ms) => (FailureClass::Error, RetryAdvice::After(Duration::from_millis(ms))),
        Advice::Permanent => (FailureClass::Permanent, RetryAdvice::Default),
        Advice::SnoozeMs(ms) => {
            (FailureClass::Snoozed, RetryAdvice::After(Duration::from_millis(ms)))
        }
    };
    let mut failure =
        Failure::new(class, kept(&error.code, MAX_CODE), kept(&error.message, MAX_MESSAGE));
    failure.advice = advice;
    failure
}
