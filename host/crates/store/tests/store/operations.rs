//! Queues, partitions.

use crate::support::{House, TENANT, completed, queue, worker};
use sqlx::AssertSqlSafe;

#[tokio::test]
async fn queues_tell_their_depth_up_to_a_bound() {
    let house = House::new().await;
    house.enqueue_all(&house.jobs(7)).await;
    house.claim(worker(), 2).await;
    house.store.pause_queue(TENANT, &queue("later")).await.unwrap();

    let queues = house.store.queues(TENANT).await.unwrap();

    assert_eq!(queues.len(), 2);
    assert_eq!((queues[0].ready, queues[0].running), (5, 2));
    assert!(queues[0].oldest_ready.is_some() && queues[0].paused_at.is_none());
    assert_eq!(queues[1].name, queue("later"));
    assert!(queues[1].oldest_ready.is_none() && queues[1].paused_at.is_some());
    assert!(!house.store.resume_queue(TENANT, &queue("nobodys")).await.unwrap());
}

#[tokio::test]
async fn a_row_without_a_partition_is_kept_and_moves_to_it_later() {
    // Given that nobody made today's partitions, and a job ended,
    let house = House::new().await;
    house.store.ensure_partitions().await.unwrap();
    let mut connection = house.db.connection().await;
    let today: String =
        sqlx::query_scalar("SELECT 'ended_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')")
            .fetch_one(&mut connection)
            .await
            .unwrap();
    house.execute(&format!("DROP TABLE {today}")).await;
    let me = worker();
    let key = house.running(me).await;
    house.finish(me, key, completed()).await;
    assert_eq!(house.db.count("ended_default").await, 1);

    // when they are made,
    assert_eq!(house.store.ensure_partitions().await.unwrap(), 1);
    assert_eq!(house.store.ensure_partitions().await.unwrap(), 0);

    // then the row is in its own, and the default one is empty.
    let moved: i64 = sqlx::query_scalar(AssertSqlSafe(format!("SELECT count(*) FROM {today}")))
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!((moved, house.db.count("ended_default").await), (1, 0));
    house.assert_one_place().await;
}
