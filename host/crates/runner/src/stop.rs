//! Why a worker should stop although nobody told its process to.

use tokio::sync::watch;

/// Why a worker should stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopReason {
    /// An operator asked for it: drain, and do not come back.
    Drain,
    /// Guests hold more threads than it may lose: drain, and start the process anew.
    Leaked,
    /// A task that it cannot do without has ended by a defect of ours: drain, and start the process
    /// anew.
    Broken,
    /// It was declared dead, and its jobs are somebody else's: [`Worker::abandon`] it and start
    /// another one, under a new id.
    ///
    /// [`Worker::abandon`]: crate::Worker::abandon
    Evicted,
}

/// Where the parts of a worker say that it should stop. Copies are the same place.
#[derive(Clone, Debug)]
pub(crate) struct Stop(watch::Sender<Option<StopReason>>);

impl Stop {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(None))
    }

    /// Gives a reason. The gravest one counts.
    pub(crate) fn give(&self, reason: StopReason) {
        self.0.send_if_modified(|given| {
            let graver = given.is_none_or(|given| given < reason);
            if graver {
                *given = Some(reason);
            }
            graver
        });
    }

    /// The reason, once there is one.
    pub(crate) async fn reason(&self) -> StopReason {
        let mut given = self.0.subscribe();
        match given.wait_for(Option::is_some).await.map(|given| *given) {
            Ok(Some(reason)) => reason,
            // The sender lives as long as `self`, so waiting cannot fail.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_gravest_reason_counts() {
        let stop = Stop::new();
        stop.give(StopReason::Drain);
        assert_eq!(stop.reason().await, StopReason::Drain);
        stop.give(StopReason::Evicted);
        stop.give(StopReason::Broken);
        assert_eq!(stop.reason().await, StopReason::Evicted);
    }
}
