//! The fleet: who leads, who runs what, and what operators do about it.

use crate::server::Api;
use axum::http::StatusCode;
use cofferdam_api::types::{ClusterView, EvictAnswer, JobView, Page, WorkerView};
use cofferdam_core::history::EVICTED;
use cofferdam_core::state::JobState;
use cofferdam_runner::StopReason;
use cofferdam_testkit::platform::{BOUND, stop};
use cofferdam_testkit::{Platform, wait_for};
use std::time::Duration;

/// A worker that nobody knows.
const NOBODY: &str = "/api/v1/workers/01970000-0000-7000-8000-000000000000";

/// The only worker that is registered.
async fn only_worker(api: &Api) -> WorkerView {
    let page: Page<WorkerView> = api.get("/api/v1/workers").await.json();
    assert_eq!(page.items.len(), 1, "{page:?}");
    page.items[0].clone()
}

async fn metrics(api: &Api) -> String {
    String::from_utf8(api.get("/metrics").await.body).unwrap()
}

#[track_caller]
fn assert_lines(page: &str, lines: &[&str]) {
    for line in lines {
        assert!(page.lines().any(|found| found == *line), "`{line}` is missing in\n{page}");
    }
}

/// S36, S69: what the sweeps did is seen, and how long a lost job was gone.
#[tokio::test]
async fn a_rescue_is_seen_in_the_cluster_and_in_the_metrics() {
    // given a job whose worker has not been heard of for ten seconds
    let api = Api::start().await;
    api.platform.push("misbehave").await;
    api.submit(r#"{"module": "misbehave/echo"}"#).await;
    api.platform.claim_as_a_ghost().await;
    api.platform.let_leases_age(Duration::from_secs(9)).await;
    let page = metrics(&api).await;
    assert_lines(&page, &["cofferdam_jobs_running 1", "cofferdam_jobs_orphaned 0"]);
    assert!(!page.contains("cofferdam_leader_epoch"), "nobody leads yet");

    // when a worker comes, which leads
    let worker = api.platform.worker(Platform::quick()).await;
    let cluster = wait_for("the report of the rescue", BOUND, async || {
        let cluster: ClusterView = api.get("/api/v1/cluster").await.json();
        let rescued = cluster.sweeps.iter().any(|s| s.name == "rescue-heartbeat" && s.rows == 1);
        if rescued { Ok(cluster) } else { Err(format!("it is {cluster:?}")) }
    })
    .await;

    // then all of it is told
    let leader = cluster.leader.expect("it leads");
    assert_eq!(leader.worker, worker.id());
    assert!(cluster.sweeps.iter().any(|sweep| sweep.name == "promote" && sweep.failures == 0));
    assert_lines(
        &metrics(&api).await,
        &[
            &format!("cofferdam_leader_epoch {}", leader.epoch),
            "cofferdam_jobs_orphaned 0",
            "cofferdam_sweep_rows_total{sweep=\"rescue-heartbeat\"} 1",
            "cofferdam_sweep_failures_total{sweep=\"rescue-heartbeat\"} 0",
            "cofferdam_rescues_total{kind=\"heartbeat\"} 1",
            "cofferdam_rescues_total{kind=\"deadline\"} 0",
            "# TYPE cofferdam_recovery_seconds histogram",
            "cofferdam_recovery_seconds_bucket{kind=\"heartbeat\",le=\"8\"} 0",
            "cofferdam_recovery_seconds_bucket{kind=\"heartbeat\",le=\"+Inf\"} 1",
            "cofferdam_recovery_seconds_count{kind=\"heartbeat\"} 1",
        ],
    );
    stop(worker).await;
}

/// S69, S70: jobs that are counted running and that nobody runs are said in these very words.
#[tokio::test]
async fn jobs_that_nobody_runs_are_said() {
    // given a running job of a worker
    let api = Api::start().await;
    api.platform.push("misbehave").await;
    api.submit(r#"{"module": "misbehave/echo", "queue": "images"}"#).await;
    api.platform.claim_as_a_ghost().await;
    api.platform.let_leases_age(Duration::from_secs(20)).await;
    let cluster: ClusterView = api.get("/api/v1/cluster").await.json();
    assert_eq!((cluster.running, cluster.occupied, cluster.orphaned), (1, 1, 0));
    assert_eq!(cluster.note, None);

    // when that worker is declared dead, and nobody has taken the job back yet
    let ghost = only_worker(&api).await;
    assert!(api.platform.store.evict_worker(ghost.id).await.unwrap());

    // then that is said, and where
    let cluster: ClusterView = api.get("/api/v1/cluster").await.json();
    assert_eq!((cluster.running, cluster.occupied, cluster.orphaned), (1, 0, 1));
    let note = cluster.note.expect("a note");
    assert_eq!(note, "1 job(s) counted running with no live slot");
    let [orphans] = cluster.orphans.as_slice() else { panic!("{:?}", cluster.orphans) };
    assert_eq!((orphans.tenant.as_str(), orphans.queue.as_str()), ("default", "images"));
    assert!(cluster.oldest_heartbeat_ms.unwrap() >= 20_000);
    assert_lines(
        &metrics(&api).await,
        &[
            "cofferdam_jobs_running 1",
            "cofferdam_worker_slots_occupied 0",
            "cofferdam_jobs_orphaned 1",
            "cofferdam_queue_jobs_orphaned{tenant=\"default\",queue=\"images\"} 1",
        ],
    );
}

/// S65: an operator asks, and the worker hears of it.
#[tokio::test]
async fn a_worker_is_told_to_drain() {
    let api = Api::start().await;
    let worker = api.platform.worker(Platform::quick()).await;
    let reply = api.post(&format!("/api/v1/workers/{}/drain", worker.id()), "").await;
    assert_eq!(reply.status, StatusCode::ACCEPTED);
    let view: WorkerView = reply.json();
    assert!(view.drain_requested && view.session && !view.evicted);
    let reason = tokio::time::timeout(BOUND, worker.must_stop()).await.expect("it hears of it");
    assert_eq!(reason, StopReason::Drain);
    stop(worker).await;
}

/// S62: an operator knows better than any timeout.
#[tokio::test]
async fn the_jobs_of_an_evicted_worker_are_taken_back_at_once() {
    // given a worker that runs a job and looks well
    let api = Api::start().await;
    api.platform.push("misbehave").await;
    let id = api.submit(r#"{"module": "misbehave/echo"}"#).await;
    api.platform.claim_as_a_ghost().await;
    let ghost = only_worker(&api).await;
    let path = format!("/api/v1/workers/{}", ghost.id);

    // when it is evicted
    let answer: EvictAnswer = api.post(&format!("{path}/evict"), "").await.json();

    // then the job is claimable again, with a crash counted, and says why
    assert_eq!(answer, EvictAnswer { id: ghost.id, taken_back: 1 });
    let job: JobView = api.get(&format!("/api/v1/jobs/{id}")).await.json();
    assert_eq!((job.summary.state, job.crashes), (JobState::Available, 1));
    assert_eq!((job.errors[0].message.as_str(), job.errors[0].code.as_str()), (EVICTED, "evicted"));
    assert!(only_worker(&api).await.evicted);

    // and once more changes nothing, and there is nothing left to drain
    let again: EvictAnswer = api.post(&format!("{path}/evict"), "").await.json();
    assert_eq!(again.taken_back, 0);
    api.post(&format!("{path}/drain"), "").await.problem(409, "worker-evicted");
}

#[tokio::test]
async fn workers_that_are_none_are_refused() {
    let api = Api::start().await;
    for verb in ["drain", "evict"] {
        let problem =
            api.post(&format!("{NOBODY}/{verb}"), "").await.problem(404, "no-such-worker");
        assert!(problem.hint.unwrap().contains("worker list"));
        api.post(&format!("/api/v1/workers/7/{verb}"), "").await.problem(400, "bad-id");
    }
    api.assert_alive().await;
}
