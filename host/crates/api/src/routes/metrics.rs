//! Figures for Prometheus.
//!
//! Nothing here counts jobs that wait: an exact count of a long backlog would cost the database
//! more than the work in it, every few seconds.

use crate::app::{Shared, State as Server};
use crate::exposition::{CONTENT_TYPE, Exposition};
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use cofferdam_core::recovery::RECOVERY_BUCKETS_MS;
use cofferdam_store::{Cluster, SweepStatus, WorkerInfo};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What the names of sweeps that rescue leases begin with; the rest is the kind.
const RESCUE: &str = "rescue-";

/// Metrics
///
/// In the Prometheus text format. Answers when the database is away, too, and says that it is.
#[utoipa::path(
    get, path = "/metrics", tag = "server",
    responses((status = 200, description = "The figures", body = String, content_type = "text/plain")),
)]
pub(crate) async fn metrics(State(state): State<Shared>) -> impl IntoResponse {
    let (workers, cluster) = tokio::join!(state.store.workers(), state.store.cluster());
    let database = workers.is_ok() && cluster.is_ok();
    let mut page = Exposition::default();
    page.gauge("cofferdam_up", "Whether the server runs.", 1);
    page.gauge("cofferdam_database_up", "Whether the database answers.", u8::from(database));
    requests(&mut page, &state);
    if let (Ok(workers), Ok(cluster)) = (workers, cluster) {
        fleet(&mut page, &workers, &cluster);
        sweeps(&mut page, &cluster.sweeps);
        rescues(&mut page, &cluster.sweeps);
    }
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], page.into_text())
}

fn requests(page: &mut Exposition, server: &Server) {
    let requests = &server.requests;
    page.gauge(
        "cofferdam_http_requests_in_flight",
        "Requests that are being worked on, this one included.",
        requests.in_flight.load(Ordering::Relaxed),
    );
    let results =
        [("fine", &requests.fine), ("refused", &requests.refused), ("failed", &requests.failed)];
    page.counters(
        "cofferdam_http_answers_total",
        "Answers given, by what they came to.",
        results.map(|(result, count)| (vec![("result", result)], count.load(Ordering::Relaxed))),
    );
}

fn fleet(page: &mut Exposition, workers: &[WorkerInfo], cluster: &Cluster) {
    let sum = |number: fn(&WorkerInfo) -> u64| workers.iter().map(number).sum::<u64>();
    page.gauge("cofferdam_workers", "Workers that are registered.", workers.len());
    page.gauge(
        "cofferdam_worker_slots",
        "Jobs that these workers can run at once.",
        sum(|worker| worker.slots.into()),
    );
    page.gauge(
        "cofferdam_worker_slots_occupied",
        "Jobs that the live ones said they run.",
        cluster.occupied,
    );
    page.gauge(
        "cofferdam_worker_slots_leaked",
        "Slots that are held by guests which cannot be ended.",
        sum(|worker| worker.leaked.into()),
    );
    page.gauge("cofferdam_jobs_running", "Jobs that are counted running.", cluster.running);
    page.gauge(
        "cofferdam_jobs_orphaned",
        "Jobs that are counted running with no live slot.",
        cluster.orphaned,
    );
    page.gauges(
        "cofferdam_queue_jobs_orphaned",
        "The same by tenant and queue, where there are any.",
        cluster.orphans.iter().map(|orphans| {
            let labels =
                vec![("tenant", orphans.tenant.as_str()), ("queue", orphans.queue.as_str())];
            (labels, orphans.count)
        }),
    );
    page.gauge(
        "cofferdam_oldest_heartbeat_seconds",
        "For how long the running job has gone without a heartbeat that has gone longest.",
        cluster.oldest_beat.unwrap_or_default().as_secs_f64(),
    );
    if let Some(leader) = &cluster.leader {
        page.gauge(
            "cofferdam_leader_epoch",
            "How often the lead changed hands. Left out while nobody leads.",
            leader.epoch,
        );
    }
}

fn sweeps(page: &mut Exposition, sweeps: &[SweepStatus]) {
    fn each<V>(
        sweeps: &[SweepStatus],
        number: fn(&SweepStatus) -> V,
    ) -> impl Iterator<Item = (Vec<(&str, &str)>, V)> {
        sweeps.iter().map(move |sweep| (vec![("sweep", sweep.name.as_str())], number(sweep)))
    }
    page.counters(
        "cofferdam_sweep_runs_total",
        "Runs of each sweep.",
        each(sweeps, |sweep| sweep.runs),
    );
    page.counters(
        "cofferdam_sweep_failures_total",
        "Runs of each sweep that failed.",
        each(sweeps, |sweep| sweep.failures),
    );
    page.counters(
        "cofferdam_sweep_rows_total",
        "Rows that each sweep moved.",
        each(sweeps, |sweep| sweep.rows),
    );
    page.gauges(
        "cofferdam_sweep_last_run_timestamp_seconds",
        "When each sweep ran last, by the database's clock.",
        each(sweeps, unix),
    );
    page.gauges(
        "cofferdam_sweep_last_duration_seconds",
        "How long its last run took.",
        each(sweeps, |sweep| sweep.last_took.as_secs_f64()),
    );
}

fn rescues(page: &mut Exposition, sweeps: &[SweepStatus]) {
    let kinds =
        || sweeps.iter().filter_map(|sweep| Some((sweep.name.strip_prefix(RESCUE)?, sweep)));
    page.counters(
        "cofferdam_rescues_total",
        "Leases that were taken back, by why.",
        kinds().map(|(kind, sweep)| (vec![("kind", kind)], sweep.rows)),
    );
    let name = "cofferdam_recovery_seconds";
    page.histogram_head(name, "How long after their last heartbeat leases were taken back.");
    for (kind, sweep) in kinds() {
        let sum = sweep.recovery_sum.as_secs_f64();
        page.histogram(name, ("kind", kind), &RECOVERY_BUCKETS_MS, &sweep.recovery, sum);
    }
}

/// When a sweep ran last, in seconds of Unix time.
fn unix(sweep: &SweepStatus) -> f64 {
    let millis = sweep.last_run_at.timestamp_millis();
    Duration::from_millis(u64::try_from(millis).unwrap_or(0)).as_secs_f64()
}
