//! A network that swallows everything, without a word to either end.

use crate::support::{BOUND, House, worker, worker_row};
use cofferdam_store::{Store, StoreSettings};
use cofferdam_testkit::proxy::Mode;
use cofferdam_testkit::{TestDb, wait_for};
use sqlx::AssertSqlSafe;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// The schema of the test databases, and the channel.
const SCHEMA: &str = "cofferdam";

/// S87, S53: no call waits for ever for an answer that does not come, and none keeps its place in
/// the pool.
#[tokio::test]
async fn a_call_whose_answer_is_swallowed_ends_and_leaves_the_pool_as_it_was() {
    // Given a store on a network of its own, with every connection of its pool in use before,
    let db = TestDb::new().await;
    let (proxy, settings) = db.proxied().await;
    let second = Duration::from_secs(1);
    let settings = StoreSettings {
        statement_timeout: second,
        acquire_timeout: second,
        max_connections: 3,
        ..settings
    };
    let store = Store::connect(&settings).await.unwrap();
    let everybody = async || tokio::join!(store.now(), store.now(), store.now());
    let (first, second, third) = everybody().await;
    assert!(first.is_ok() && second.is_ok() && third.is_ok());

    // when the network swallows what each of them asks,
    proxy.set(Mode::BlackHole);
    let asked = tokio::time::timeout(BOUND, everybody()).await;

    // then each call ends with an error that says to try again,
    let (first, second, third) = asked.expect("calls end");
    for answer in [first, second, third] {
        assert!(answer.unwrap_err().is_transient());
    }
    // and the pool is whole soon after the network is.
    proxy.set(Mode::Forward);
    wait_for("the pool to be whole", BOUND, async || {
        let (first, second, third) = everybody().await;
        first.and(second).and(third).map_err(|error| error.to_string())
    })
    .await;
}

/// S92: wherever a transaction is given up, its connection does not go back to the pool within it.
/// What is written over that connection next is there for everybody.
#[tokio::test]
async fn a_transaction_that_is_given_up_anywhere_leaves_nothing_open() {
    // Given a store with a single connection
    let house = House::new().await;
    let settings = StoreSettings { max_connections: 1, ..house.db.settings() };
    let store = Store::connect(&settings).await.unwrap();
    let mut given_up = 0;
    loop {
        // when a transaction is given up at its first wait, at its second, and so on, each time with
        // the answer that it waits for on its way,
        let job = [house.job()];
        let ended = gives_up_after(given_up, store.enqueue(&job)).await;
        // then the next statement over the connection is written for good.
        let row = worker_row(worker());
        store.register_worker(&row).await.unwrap();
        let registered = house.store.workers().await.unwrap();
        assert!(registered.iter().any(|other| other.id == row.id), "given up at wait {given_up}");
        if ended {
            break;
        }
        given_up += 1;
    }
    assert!(given_up > 3, "a connection, a BEGIN, statements, a COMMIT: {given_up} waits");
}

/// Drops some work at a wait, counted from zero, or lets it end before.
async fn gives_up_after<T>(waits: usize, work: impl Future<Output = T>) -> bool {
    let mut work = pin!(work);
    let mut waited = 0;
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(_) => Poll::Ready(true),
        Poll::Pending if waited == waits => Poll::Ready(false),
        Poll::Pending => {
            waited += 1;
            Poll::Pending
        }
    })
    .await
}

/// The listener asks for a sign of life when it hears nothing, and takes a new connection where
/// there is none.
#[tokio::test]
async fn a_listener_that_is_cut_off_hears_again() {
    let db = TestDb::new().await;
    let (proxy, settings) = db.proxied().await;
    let store = Store::connect(&settings).await.unwrap();
    let mut listener = store.listen().await.unwrap();
    // Given a listener that a notification does not reach,
    proxy.set(Mode::BlackHole);
    let mut direct = db.connection().await;
    let notify = format!("NOTIFY {SCHEMA}, 'ready:default'");
    sqlx::raw_sql(AssertSqlSafe(notify)).execute(&mut direct).await.unwrap();
    wait_for("the notification to be swallowed", BOUND, async || {
        if proxy.swallowed() > 0 { Ok(()) } else { Err("nothing was".to_owned()) }
    })
    .await;
    proxy.set(Mode::Forward);
    // when it has heard nothing for long enough, then it connects anew.
    let bound = Duration::from_mins(1);
    let woken = tokio::time::timeout(bound, listener.recv()).await.expect("it comes back");
    assert_eq!(woken, cofferdam_store::Wake::Reconnected);
}
