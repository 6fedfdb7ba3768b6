//! Tasks that stop together.

use crate::stop::{Stop, StopReason};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long tasks have to stop once they were told to. All of them stop between two statements, so
/// only one whose answer does not come takes longer, and is ended where it waits: as if the process
/// had died there, which every statement is made for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Tasks of a worker that it cannot do without, until they are told to stop.
pub(crate) struct Stage {
    running: Mutex<Vec<AbortHandle>>,
    tasks: TaskTracker,
    stop: CancellationToken,
    orders: Stop,
}

impl Stage {
    pub(crate) fn new(orders: &Stop) -> Self {
        Self {
            running: Mutex::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            orders: orders.clone(),
        }
    }

    /// Starts a task that must not end before it is told to. When it does, the worker is broken.
    pub(crate) fn spawn<T>(&self, task: impl FnOnce(CancellationToken) -> T)
    where
        T: Future<Output = ()> + Send + 'static,
    {
        let (stop, orders) = (self.stop.clone(), self.orders.clone());
        let task = tokio::spawn(task(stop.clone()));
        self.running.lock().unwrap_or_else(PoisonError::into_inner).push(task.abort_handle());
        self.tasks.spawn(async move {
            let ended = task.await;
            if ended.is_err_and(|error| error.is_panic()) || !stop.is_cancelled() {
                orders.give(StopReason::Broken);
            }
        });
    }

    /// Tells the tasks to stop, and waits until they have. Takes ten seconds at most.
    pub(crate) async fn stop(&self) {
        self.stop_within(PATIENCE).await;
    }

    async fn stop_within(&self, patience: Duration) {
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(patience, self.tasks.wait()).await.is_ok() {
            return;
        }
        for task in self.running.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            if !task.is_finished() {
                tracing::warn!("a task waits for the database and is ended");
                task.abort();
            }
        }
        self.tasks.wait().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_dies_breaks_the_worker() {
        let orders = Stop::new();
        let stage = Stage::new(&orders);
        stage.spawn(|_| async { panic!("a defect") });
        assert_eq!(orders.reason().await, StopReason::Broken);
        stage.stop().await;
    }

    #[tokio::test]
    async fn a_task_that_was_told_to_stop_breaks_nothing() {
        let orders = Stop::new();
        let stage = Stage::new(&orders);
        stage.spawn(|stop| async move { stop.cancelled().await });
        stage.stop().await;
        orders.give(StopReason::Drain);
        assert_eq!(orders.reason().await, StopReason::Drain);
    }

    #[tokio::test]
    async fn a_task_that_waits_for_ever_is_not_waited_for() {
        let orders = Stop::new();
        let stage = Stage::new(&orders);
        stage.spawn(|_| std::future::pending());
        stage.stop_within(Duration::from_millis(1)).await;
        orders.give(StopReason::Drain);
        assert_eq!(orders.reason().await, StopReason::Drain, "that it was ended is no defect");
    }
}
