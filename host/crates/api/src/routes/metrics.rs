//! Figures for Prometheus.
//!
//! Nothing here counts jobs: an exact count of a long backlog would cost the database more than
//! the work in it, every few seconds.

use crate::app::{Shared, State as Server};
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use cofferdam_store::WorkerInfo;
use std::fmt::{Display, Write as _};
use std::sync::atomic::Ordering;

/// The content type of the Prometheus text format.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Metrics
///
/// In the Prometheus text format. Answers when the database is away, too, and says that it is.
#[utoipa::path(
    get, path = "/metrics", tag = "server",
    responses((status = 200, description = "The figures", body = String, content_type = "text/plain")),
)]
pub(crate) async fn metrics(State(state): State<Shared>) -> impl IntoResponse {
    let workers = state.store.workers().await;
    let mut page = Exposition::default();
    page.gauge("cofferdam_up", "Whether the server runs.", 1);
    page.gauge("cofferdam_database_up", "Whether the database answers.", u8::from(workers.is_ok()));
    page.requests(&state);
    if let Ok(workers) = workers {
        page.workers(&workers);
    }
    ([(header::CONTENT_TYPE, TEXT)], page.0)
}

/// A page in the text format.
#[derive(Default)]
struct Exposition(String);

impl Exposition {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, "gauge", help);
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn requests(&mut self, server: &Server) {
        let requests = &server.requests;
        self.gauge(
            "cofferdam_http_requests_in_flight",
            "Requests that are being worked on, this one included.",
            requests.in_flight.load(Ordering::Relaxed),
        );
        let name = "cofferdam_http_answers_total";
        self.head(name, "counter", "Answers given, by what they came to.");
        for (label, count) in
            [("fine", &requests.fine), ("refused", &requests.refused), ("failed", &requests.failed)]
        {
            let count = count.load(Ordering::Relaxed);
            let _ = writeln!(self.0, "{name}{{result=\"{label}\"}} {count}");
        }
    }

    fn workers(&mut self, workers: &[WorkerInfo]) {
        let sum = |number: fn(&WorkerInfo) -> u64| workers.iter().map(number).sum::<u64>();
        self.gauge("cofferdam_workers", "Workers that are registered.", workers.len());
        self.gauge(
            "cofferdam_worker_slots",
            "Jobs that these workers can run at once.",
            sum(|worker| worker.slots.into()),
        );
        self.gauge(
            "cofferdam_worker_slots_occupied",
            "Jobs that they said they run.",
            sum(|worker| worker.occupied.into()),
        );
    }
}
