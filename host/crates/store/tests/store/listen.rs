//! Notifications.

use crate::support::{House, TENANT, queue, worker};
use cofferdam_store::{Listener, Wake};
use std::time::Duration;

async fn next(listener: &mut Listener) -> Wake {
    tokio::time::timeout(Duration::from_secs(30), listener.recv()).await.expect("a notification")
}

#[tokio::test]
async fn new_jobs_wake_once_a_queue_and_cancels_name_the_lease() {
    let house = House::new().await;
    let mut listener = house.store.listen().await.unwrap();
    let mut jobs = house.jobs(100);
    for job in &mut jobs {
        job.queue = queue("images");
    }
    house.enqueue_all(&jobs).await;
    let claimed = house.claim(worker(), 1).await;
    house.store.cancel(TENANT, claimed[0].key.job).await.unwrap();

    assert_eq!(next(&mut listener).await, Wake::Ready { queue: queue("images") });
    assert_eq!(next(&mut listener).await, Wake::Cancel(claimed[0].key));
}

#[tokio::test]
async fn a_lost_connection_is_replaced_and_reported() {
    let house = House::new().await;
    let mut listener = house.store.listen().await.unwrap();
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    house.execute(cut).await;

    assert_eq!(next(&mut listener).await, Wake::Reconnected);
    house.enqueue(house.job()).await;
    assert_eq!(next(&mut listener).await, Wake::Ready { queue: queue("default") });
}
