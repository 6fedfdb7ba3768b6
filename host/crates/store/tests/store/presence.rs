//! What the end of a worker's session proves, and what it does not.

use crate::support::{BOUND, House, execute, worker_row};
use cofferdam_core::class::FailureClass;
use cofferdam_core::history::WORKER_GONE;
use cofferdam_core::ids::WorkerId;
use cofferdam_core::state::JobState;
use cofferdam_store::{Presence, RescueKind, Store, StoreError, StoreSettings};
use cofferdam_testkit::wait_for;
use sqlx::Connection as _;
use std::time::Duration;

const RENEW: &str = include_str!("../../queries/presence/renew.sql");
const WATCH: &str = include_str!("../../queries/presence/watch.sql");

/// The shortest grace: more than one look.
const SOON: RescueKind = RescueKind::Crash { grace: Duration::from_millis(1) };

/// Waits until a worker has no session any more.
pub(crate) async fn session_ends(house: &House, id: WorkerId) {
    wait_for("the session to end", BOUND, async || {
        if house.worker_info(id).await.session { Err("it is there".to_owned()) } else { Ok(()) }
    })
    .await;
}

/// How many sessions hold the lock of a worker.
async fn sessions(house: &House, id: WorkerId) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM worker_session WHERE worker_id = $1")
        .bind(id.as_uuid())
        .fetch_one(&mut house.db.connection().await)
        .await
        .unwrap()
}

/// Terminates the sessions of a worker, and waits until they are gone.
async fn terminate(house: &House, id: WorkerId) {
    let ended: Vec<bool> = sqlx::query_scalar(
        "SELECT pg_terminate_backend(pid, 20000) FROM worker_session WHERE worker_id = $1",
    )
    .bind(id.as_uuid())
    .fetch_all(&mut house.db.connection().await)
    .await
    .unwrap();
    assert_eq!(ended, [true]);
}

async fn watch(presence: &mut Presence) -> usize {
    presence.watch(BOUND).await.unwrap()
}

/// S15, S60: a process that is killed is found out at once; nobody is rescued after one look.
#[tokio::test]
async fn a_worker_whose_process_ends_is_gone_and_its_jobs_come_back() {
    // Given a leader and a worker that runs a job,
    let house = House::new().await;
    let (_leader, mut eyes) = house.present().await;
    let (me, presence) = house.present().await;
    let key = house.running(me).await;
    assert_eq!(watch(&mut eyes).await, 0);

    // when its process ends, as far as the database can tell,
    drop(presence);
    session_ends(&house, me).await;

    // then it is gone at the first look, its jobs come back after the second,
    assert_eq!(watch(&mut eyes).await, 1);
    assert!(house.worker_info(me).await.gone_since.is_some());
    assert_eq!(house.rescue(SOON, 10, FailureClass::Lost).await, 0);
    wait_for("a later look", BOUND, async || {
        assert_eq!(watch(&mut eyes).await, 1);
        match house.rescue(SOON, 10, FailureClass::Lost).await {
            1 => Ok(()),
            other => Err(format!("{other} were rescued")),
        }
    })
    .await;
    let detail = house.detail(key.job).await;
    assert_eq!((detail.state, detail.counters.crashes), (JobState::Available, 1));
    let error = &detail.errors[0];
    assert_eq!((error.code.as_str(), error.message.as_str()), ("worker_gone", WORKER_GONE));

    // and it is forgotten.
    let (grace, long) = (Duration::from_millis(1), Duration::from_hours(1));
    assert_eq!(house.store.forget_workers(grace, long).await.unwrap(), 1);
    assert_eq!(watch(&mut eyes).await, 0);
}

#[tokio::test]
async fn the_grace_is_counted_between_two_looks() {
    // Given a worker that was seen to be gone once, a long time ago,
    let house = House::new().await;
    let (_leader, mut eyes) = house.present().await;
    let (me, presence) = house.present().await;
    house.running(me).await;
    drop(presence);
    session_ends(&house, me).await;
    watch(&mut eyes).await;
    let ago = "gone_since - INTERVAL '1 hour'";
    house
        .execute(&format!(
            "UPDATE workers SET gone_since = {ago}, gone_seen_at = {ago} \
             WHERE gone_since IS NOT NULL; \
             UPDATE leases SET heartbeat_at = heartbeat_at - INTERVAL '2 hours'"
        ))
        .await;

    // when nobody has looked since, then that is not enough; after another look it is.
    let grace = RescueKind::Crash { grace: Duration::from_secs(5) };
    assert_eq!(house.rescue(grace, 10, FailureClass::Lost).await, 0);
    watch(&mut eyes).await;
    assert_eq!(house.rescue(grace, 10, FailureClass::Lost).await, 1);
}

#[tokio::test]
async fn a_worker_that_beats_lives_whatever_became_of_its_session() {
    // Given a worker that lost its session in a way that looks like its end, with two jobs,
    let house = House::new().await;
    let (_leader, mut eyes) = house.present().await;
    let (me, presence) = house.present().await;
    let (key, other) = (house.running(me).await, house.running(me).await);
    drop(presence);
    session_ends(&house, me).await;
    watch(&mut eyes).await;

    // when it renews one of its leases after that, then both are left alone;
    let beats = house.store.heartbeats().beat(me, &[key], BOUND).await.unwrap();
    assert_eq!(beats.len(), 1);
    house.execute("UPDATE workers SET gone_seen_at = now() WHERE gone_since IS NOT NULL").await;
    assert_eq!(house.rescue(SOON, 10, FailureClass::Lost).await, 0);
    assert_eq!(house.state(other.job).await, JobState::Running);

    // and when it did not, both come back.
    house.execute("UPDATE leases SET heartbeat_at = heartbeat_at - INTERVAL '1 minute'").await;
    assert_eq!(house.rescue(SOON, 10, FailureClass::Lost).await, 2);
}

#[tokio::test]
async fn a_worker_that_comes_back_within_the_grace_keeps_its_jobs() {
    let house = House::new().await;
    let (_leader, mut eyes) = house.present().await;
    let (me, presence) = house.present().await;
    let key = house.running(me).await;
    drop(presence);
    session_ends(&house, me).await;
    assert_eq!(watch(&mut eyes).await, 1);

    // Its own word is enough, before anybody looks again.
    let _back = house.enter(me).await;
    assert!(house.worker_info(me).await.gone_since.is_none());
    assert_eq!(watch(&mut eyes).await, 0);
    assert_eq!(house.rescue(SOON, 10, FailureClass::Lost).await, 0);
    assert_eq!(house.state(key.job).await, JobState::Running);
}

#[tokio::test]
async fn a_session_that_was_terminated_says_nothing_about_its_worker() {
    // Given a leader and a worker,
    let house = House::new().await;
    let (_leader, mut eyes) = house.present().await;
    let (me, mut presence) = house.present().await;
    house.running(me).await;

    // when somebody terminates the worker's session, then nobody takes it for dead,
    terminate(&house, me).await;
    session_ends(&house, me).await;
    assert_eq!(watch(&mut eyes).await, 0);
    assert_eq!(watch(&mut eyes).await, 0);

    // the worker notices, and takes another session,
    assert!(presence.ping(BOUND).await.unwrap_err().is_transient());
    assert!(presence.ping(BOUND).await.is_err(), "there is none yet");
    assert!(presence.renew(&worker_row(me), BOUND).await.unwrap().locked);
    presence.ping(BOUND).await.unwrap();

    // whose end means something again.
    drop(presence);
    session_ends(&house, me).await;
    assert_eq!(watch(&mut eyes).await, 1);
}

#[tokio::test]
async fn a_termination_of_anybody_takes_back_what_was_concluded() {
    // The worker's session ends a moment before Postgres counts whom it terminated: what the first
    // look says may be wrong, and the second one mends it.
    let house = House::new().await;
    let (_leader, mut eyes) = house.present().await;
    let (me, presence) = house.present().await;
    drop(presence);
    session_ends(&house, me).await;
    assert_eq!(watch(&mut eyes).await, 1);

    let mut victim = house.db.connection().await;
    let pid: i32 =
        sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut victim).await.unwrap();
    house.execute(&format!("SELECT pg_terminate_backend({pid}, 20000)")).await;

    assert_eq!(watch(&mut eyes).await, 0);
    assert!(house.worker_info(me).await.gone_since.is_none());
}

#[tokio::test]
async fn an_observer_that_was_not_there_concludes_nothing() {
    // Given a worker that ended before the session of the observer began,
    let house = House::new().await;
    let (me, presence) = house.present().await;
    drop(presence);
    session_ends(&house, me).await;

    // when that one looks, then it cannot tell how the session ended.
    let (leader, mut eyes) = house.present().await;
    assert_eq!(watch(&mut eyes).await, 0);

    // Nor can one that lost its session meanwhile.
    let (other, presence) = house.present().await;
    drop(presence);
    session_ends(&house, other).await;
    assert_eq!(watch(&mut eyes).await, 1);
    let mut late = house.enter(leader).await;
    assert_eq!(watch(&mut late).await, 0);
}

#[tokio::test]
async fn a_session_that_is_shared_by_a_pooler_proves_nothing() {
    // Given a leader and a worker, whose statements come over other sessions than those that they
    // took their locks with,
    let house = House::new().await;
    let (leader, _eyes) = house.present().await;
    let (me, presence) = house.present().await;
    let mut pooled = house.db.connection().await;
    let row = worker_row(me);
    let (drain, locked): (bool, bool) = sqlx::query_as(RENEW)
        .bind(me.as_uuid())
        .bind(&row.hostname)
        .bind(7_i64)
        .bind(&row.version)
        .bind(Vec::<String>::new())
        .bind(8_i32)
        .bind(0_i32)
        .bind(false)
        .bind(0_i32)
        .fetch_one(&mut pooled)
        .await
        .unwrap();

    // then the worker hears so,
    assert_eq!((drain, locked), (false, false));

    // and when it is gone, nobody concludes it, from whichever side the doubt comes.
    drop(presence);
    session_ends(&house, me).await;
    let (other, presence) = house.present().await;
    drop(presence);
    session_ends(&house, other).await;
    let gone: i64 = sqlx::query_scalar(WATCH)
        .bind(leader.as_uuid())
        .bind(0_i64)
        .fetch_one(&mut pooled)
        .await
        .unwrap();
    assert_eq!(gone, 0, "the observer's session is not its own");
    let mut eyes = house.enter(leader).await;
    assert_eq!(watch(&mut eyes).await, 0);
}

/// Keeps every statement that touches the register waiting.
const SILENCE: &str = "LOCK TABLE workers IN ACCESS EXCLUSIVE MODE";

#[tokio::test]
async fn a_database_that_is_slow_does_not_make_a_worker_look_dead() {
    // Given a worker and a leader, and a database that does not answer the worker,
    let house = House::new().await;
    let (_leader, mut eyes) = house.present().await;
    let (me, mut presence) = house.present().await;
    let mut other = house.db.connection().await;
    let mut open = other.begin().await.unwrap();
    execute(&mut open, SILENCE).await;

    // when it gives up waiting, more than once,
    let moment = Duration::from_millis(200);
    for _ in 0..3 {
        let error = presence.renew(&worker_row(me), moment).await.unwrap_err();
        assert!(matches!(error, StoreError::Timeout(_)) && error.is_transient(), "{error}");
    }
    open.rollback().await.unwrap();

    // then its lock is still held, so that nobody takes it for dead;
    assert!(house.worker_info(me).await.session);
    assert_eq!(watch(&mut eyes).await, 0);

    // and when it has another session, it lets go of those before.
    assert!(presence.renew(&worker_row(me), BOUND).await.unwrap().locked);
    wait_for("one session", BOUND, async || match sessions(&house, me).await {
        1 => Ok(()),
        other => Err(format!("there are {other}")),
    })
    .await;
    assert_eq!(watch(&mut eyes).await, 0);
}

#[tokio::test]
async fn a_renewal_that_is_dropped_half_way_keeps_the_lock() {
    let house = House::new().await;
    let (me, mut presence) = house.present().await;
    let mut other = house.db.connection().await;
    let mut open = other.begin().await.unwrap();
    execute(&mut open, SILENCE).await;

    let row = worker_row(me);
    let renewal = presence.renew(&row, BOUND);
    tokio::time::timeout(Duration::from_millis(200), renewal).await.unwrap_err();
    open.rollback().await.unwrap();

    assert!(house.worker_info(me).await.session);
    assert!(presence.ping(BOUND).await.is_err(), "an answer to something else is on its way");
    assert!(presence.renew(&worker_row(me), BOUND).await.unwrap().locked);
    presence.ping(BOUND).await.unwrap();
}

#[tokio::test]
async fn no_timeout_of_the_server_ends_a_session_that_is_a_presence() {
    // Given a database that ends idle sessions,
    let house = House::new().await;
    let name: String = sqlx::query_scalar("SELECT format('%I', current_database())")
        .fetch_one(&mut house.db.connection().await)
        .await
        .unwrap();
    house.execute(&format!("ALTER DATABASE {name} SET idle_session_timeout = '100ms'")).await;
    let settings =
        StoreSettings { application_name: "cofferdam-worker".to_owned(), ..house.db.settings() };
    let store = Store::connect(&settings).await.unwrap();
    let me = house.register().await;
    let mut presence = store.presence(me);
    presence.renew(&worker_row(me), BOUND).await.unwrap();

    // when another session has been ended by that,
    let mut idle = house.db.connection().await;
    let pid: i32 =
        sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut idle).await.unwrap();
    wait_for("an idle session to end", BOUND, async || {
        let there: bool =
            sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)")
                .bind(pid)
                .fetch_one(&mut house.db.connection().await)
                .await
                .unwrap();
        if there { Err("it is there".to_owned()) } else { Ok(()) }
    })
    .await;

    // then the presence is there, and says what it is.
    presence.ping(BOUND).await.unwrap();
    let names: Vec<String> = sqlx::query_scalar(
        "SELECT a.application_name FROM worker_session AS s JOIN pg_stat_activity AS a \
         ON a.pid = s.pid WHERE s.worker_id = $1",
    )
    .bind(me.as_uuid())
    .fetch_all(&mut house.db.connection().await)
    .await
    .unwrap();
    assert_eq!(names, ["cofferdam-worker presence"]);
}

/// S41: the sessions of two installations in one database are told apart.
#[tokio::test]
async fn a_session_is_a_presence_in_its_own_installation_only() {
    let house = House::new().await;
    let settings = StoreSettings { schema: "other".to_owned(), ..house.db.settings() };
    let other = Store::connect(&settings).await.unwrap();
    other.migrate().await.unwrap();
    let (me, _presence) = house.present().await;
    other.register_worker(&worker_row(me)).await.unwrap();

    assert!(house.worker_info(me).await.session);
    assert!(!other.workers().await.unwrap()[0].session);
}
