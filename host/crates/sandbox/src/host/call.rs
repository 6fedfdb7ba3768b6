//! Which of our host calls a guest is in: what is told when it does not come back from one.

use std::sync::atomic::{AtomicU8, Ordering};

/// A host call that has an effect outside the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum HostCall {
    Log = 1,
    Progress,
    Checkpoint,
    ExtendDeadline,
    SuspendUntil,
    Stdout,
    Stderr,
    Secret,
    Fetch,
    Scratch,
}

impl HostCall {
    const ALL: [Self; 10] = [
        Self::Log,
        Self::Progress,
        Self::Checkpoint,
        Self::ExtendDeadline,
        Self::SuspendUntil,
        Self::Stdout,
        Self::Stderr,
        Self::Secret,
        Self::Fetch,
        Self::Scratch,
    ];

    /// What guests know it by.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Log => "cofferdam:job/log.log",
            Self::Progress => "cofferdam:job/control.progress",
            Self::Checkpoint => "cofferdam:job/control.checkpoint",
            Self::ExtendDeadline => "cofferdam:job/control.extend-deadline",
            Self::SuspendUntil => "cofferdam:job/jobs.suspend-until",
            Self::Stdout => "wasi:cli/stdout",
            Self::Stderr => "wasi:cli/stderr",
            Self::Secret => "cofferdam:job/secrets.get",
            Self::Fetch => "wasi:http/outgoing-handler.handle",
            Self::Scratch => "wasi:filesystem/types",
        }
    }
}

/// A host call that others may read while it is made, if there is one.
#[derive(Default)]
pub(crate) struct CallCell(AtomicU8);

impl CallCell {
    pub(crate) fn get(&self) -> Option<HostCall> {
        let code = self.0.load(Ordering::Relaxed);
        HostCall::ALL.into_iter().find(|call| *call as u8 == code)
    }

    pub(crate) fn set(&self, call: Option<HostCall>) {
        self.0.store(call.map_or(0, |call| call as u8), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_comes_out_as_it_went_in() {
        let cell = CallCell::default();
        assert_eq!(cell.get(), None);
        for call in HostCall::ALL {
            cell.set(Some(call));
            assert_eq!(cell.get(), Some(call));
        }
        cell.set(None);
        assert_eq!(cell.get(), None);
    }
}
