//! What travels on the installation's notification channel.
//!
//! A notification wakes and carries no truth: it can be lost, and whoever is woken looks at the
//! tables. The statements write `ready:QUEUE`, `cancel:JOB#RUN_LEASE`, `drain:WORKER` and
//! `evict:WORKER`.

use cofferdam_core::ids::{LeaseKey, WorkerId};
use cofferdam_core::name::QueueName;

/// A reason to look at the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wake {
    /// A queue of this name, of some tenant, has jobs that were not claimable before.
    Ready {
        /// The queue.
        queue: QueueName,
    },
    /// Someone asked for a running job to be cancelled.
    Cancel(LeaseKey),
    /// Someone wants a worker to drain.
    Drain(WorkerId),
    /// Someone declared a worker dead.
    Evict(WorkerId),
    /// The connection was lost and is there again: anything may have been missed.
    Reconnected,
}

/// Reads a notification; `None` for those of a later version.
pub(crate) fn parse(payload: &str) -> Option<Wake> {
    let (word, rest) = payload.split_once(':')?;
    match word {
        "ready" => Some(Wake::Ready { queue: QueueName::new(rest).ok()? }),
        "cancel" => {
            let (job, run_lease) = rest.split_once('#')?;
            let key = LeaseKey { job: job.parse().ok()?, run_lease: run_lease.parse().ok()? };
            Some(Wake::Cancel(key))
        }
        "drain" => Some(Wake::Drain(rest.parse().ok()?)),
        "evict" => Some(Wake::Evict(rest.parse().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::ids::JobId;

    #[test]
    fn a_cancel_names_the_lease_as_the_lease_prints_itself() {
        let key = LeaseKey { job: JobId::from_uuid(uuid::Uuid::from_u128(7)), run_lease: 3 };
        assert_eq!(parse(&format!("cancel:{key}")), Some(Wake::Cancel(key)));
    }

    #[test]
    fn workers_are_named_as_they_print_themselves() {
        let worker = WorkerId::from_uuid(uuid::Uuid::from_u128(7));
        assert_eq!(parse(&format!("drain:{worker}")), Some(Wake::Drain(worker)));
        assert_eq!(parse(&format!("evict:{worker}")), Some(Wake::Evict(worker)));
    }

    #[test]
    fn what_cannot_be_read_wakes_nobody() {
        for payload in ["", "ready", "ready:", "cancel:x#1", "cancel:x", "drain:x", "later:thing"] {
            assert_eq!(parse(payload), None, "{payload}");
        }
        let queue = QueueName::new("images").unwrap();
        assert_eq!(parse("ready:images"), Some(Wake::Ready { queue }));
    }
}
