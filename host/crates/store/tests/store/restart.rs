//! A Postgres that restarts or crashes, and what must not be concluded from it.

use crate::support::{BOUND, worker, worker_row};
use cofferdam_core::class::FailureClass;
use cofferdam_core::ids::WorkerId;
use cofferdam_localpg::{Cluster, ClusterSettings};
use cofferdam_store::{Presence, RescueKind, Store, StoreSettings};
use cofferdam_testkit::wait_for;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sqlx::Connection as _;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;
use tempfile::TempDir;

/// A server of its own, which the test may restart.
struct Server {
    folder: TempDir,
    cluster: Cluster,
}

impl Server {
    fn start() -> Self {
        // The account that runs it may be another one.
        let everyone = std::fs::Permissions::from_mode(0o755);
        let folder = tempfile::Builder::new().permissions(everyone).tempdir().unwrap();
        let cluster = Self::open(&folder);
        Self { folder, cluster }
    }

    fn open(folder: &TempDir) -> Cluster {
        // Durable: what was committed has to be there after a crash.
        Cluster::open(&ClusterSettings::new(folder.path().join("data"))).unwrap()
    }

    fn restart(self) -> Self {
        self.cluster.stop().unwrap();
        Self { cluster: Self::open(&self.folder), folder: self.folder }
    }

    async fn store(&self) -> Store {
        let store = Store::connect(&StoreSettings::new(self.cluster.url("postgres"))).await;
        store.unwrap()
    }
}

/// A worker with a session.
async fn present(store: &Store) -> (WorkerId, Presence) {
    let id = worker();
    store.register_worker(&worker_row(id)).await.unwrap();
    (id, enter(store, id).await)
}

async fn enter(store: &Store, id: WorkerId) -> Presence {
    let mut presence = store.presence(id);
    assert!(presence.renew(&worker_row(id), BOUND).await.unwrap().locked);
    presence
}

/// Looks twice, and finds that a worker has no session and is not gone for that.
async fn nobody_is_gone(store: &Store, eyes: &mut Presence, id: WorkerId) {
    for _ in 0..2 {
        assert_eq!(eyes.watch(BOUND).await.unwrap(), 0);
    }
    let workers = store.workers().await.unwrap();
    let info = workers.iter().find(|worker| worker.id == id).unwrap();
    assert!(!info.session && info.gone_since.is_none());
    let crash = RescueKind::Crash { grace: Duration::ZERO };
    let decide = crate::support::decide(FailureClass::Lost);
    assert_eq!(store.rescue(crash, None, 10, &decide).await.unwrap().ended, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_postgres_makes_no_worker_look_dead() {
    // Given a leader and a worker,
    let server = Server::start();
    let store = server.store().await;
    store.migrate().await.unwrap();
    let (leader, _eyes) = present(&store).await;
    let (me, _presence) = present(&store).await;
    store.close().await;

    // when Postgres restarts, and the leader is back before the worker,
    let server = server.restart();
    let store = server.store().await;
    let mut eyes = enter(&store, leader).await;

    // then nobody takes that one for dead, and it is registered when it comes back.
    nobody_is_gone(&store, &mut eyes, me).await;
    let _back = enter(&store, me).await;
    assert_eq!(eyes.watch(BOUND).await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_of_postgres_makes_no_worker_look_dead() {
    // Given a leader and a worker, and another session,
    let server = Server::start();
    let store = server.store().await;
    store.migrate().await.unwrap();
    let (leader, mut eyes) = present(&store).await;
    let (me, _presence) = present(&store).await;
    let url = server.cluster.url("postgres");
    let mut other = sqlx::PgConnection::connect(&url).await.unwrap();
    let pid: i32 =
        sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut other).await.unwrap();

    // when that one's process is killed, Postgres starts anew with everybody's sessions gone and
    // its counters at zero, where they were before;
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    wait_for("the leader to notice", BOUND, async || {
        eyes.watch(BOUND).await.err().ok_or_else(|| "it looks".to_owned())
    })
    .await;
    let row = worker_row(leader);
    wait_for("the leader to be back", BOUND, async || {
        eyes.renew(&row, BOUND).await.map_err(|error| error.to_string())
    })
    .await;

    // then nobody takes the worker for dead that is not back yet.
    nobody_is_gone(&store, &mut eyes, me).await;
    let _back = enter(&store, me).await;
    assert_eq!(eyes.watch(BOUND).await.unwrap(), 0);
}
