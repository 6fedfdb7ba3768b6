//! Tasks that stop together.

use crate::stop::{Stop, StopReason};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Tasks of a worker that it cannot do without, until they are told to stop.
pub(crate) struct Stage {
    tasks: TaskTracker,
    stop: CancellationToken,
    orders: Stop,
}

impl Stage {
    pub(crate) fn new(orders: &Stop) -> Self {
        Self { tasks: TaskTracker::new(), stop: CancellationToken::new(), orders: orders.clone() }
    }

    /// Starts a task that must not end before it is told to. When it does, the worker is broken.
    pub(crate) fn spawn<T>(&self, task: impl FnOnce(CancellationToken) -> T)
    where
        T: Future<Output = ()> + Send + 'static,
    {
        let (stop, orders) = (self.stop.clone(), self.orders.clone());
        let task = tokio::spawn(task(stop.clone()));
        self.tasks.spawn(async move {
            if task.await.is_err() || !stop.is_cancelled() {
                orders.give(StopReason::Broken);
            }
        });
    }

    /// Tells the tasks to stop, and waits until they have.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
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
}
