//! Workers.

use crate::app::Shared;
use crate::error::{Answer, Problem};
use crate::extract::WorkerPath;
use crate::types::{EvictAnswer, Page, WorkerView};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use cofferdam_core::ids::WorkerId;

/// Workers
///
/// Every one that is registered.
#[utoipa::path(
    get, path = "/api/v1/workers",
    operation_id = "list_workers", tag = "workers",
    responses((status = 200, description = "All of them", body = Page<WorkerView>)),
)]
pub(crate) async fn list(State(state): State<Shared>) -> Answer<Json<Page<WorkerView>>> {
    let workers = state.store.workers().await?;
    Ok(Json(Page::whole(workers.into_iter().map(WorkerView::from).collect())))
}

/// Drain a worker
///
/// It takes no more jobs, waits for what it runs as long as its drain grace says, gives back the
/// rest without counting an attempt, and its process ends.
#[utoipa::path(
    post, path = "/api/v1/workers/{id}/drain",
    operation_id = "drain_worker", tag = "workers",
    params(("id" = String, Path, format = Uuid, description = "The worker")),
    responses((status = 202, description = "It was told", body = WorkerView)),
)]
pub(crate) async fn drain(
    State(state): State<Shared>,
    WorkerPath(id): WorkerPath,
) -> Answer<(StatusCode, Json<WorkerView>)> {
    let known = find(&state, id).await?;
    let told = state.store.request_drain(id).await?;
    // One that has nothing to wait for may have left by now.
    let worker = find(&state, id).await.unwrap_or(known);
    if !told && worker.evicted {
        return Err(Problem::conflict("worker-evicted", format!("worker {id} was evicted"))
            .hint("it holds no jobs any more; a process that lives goes on under another id"));
    }
    Ok((StatusCode::ACCEPTED, Json(worker)))
}

async fn find(state: &Shared, id: WorkerId) -> Answer<WorkerView> {
    let workers = state.store.workers().await?;
    let worker = workers.into_iter().find(|worker| worker.id == id);
    worker.map(WorkerView::from).ok_or_else(|| no_such_worker(id))
}

/// Evict a worker
///
/// Declares it dead: its jobs are taken back now and run elsewhere, each with a crash counted. A
/// process that lives all the same kills its guests when it hears of it, writes nothing of theirs,
/// and comes back under a new id.
#[utoipa::path(
    post, path = "/api/v1/workers/{id}/evict",
    operation_id = "evict_worker", tag = "workers",
    params(("id" = String, Path, format = Uuid, description = "The worker")),
    responses((status = 200, description = "Its jobs are taken back", body = EvictAnswer)),
)]
pub(crate) async fn evict(
    State(state): State<Shared>,
    WorkerPath(id): WorkerPath,
) -> Answer<Json<EvictAnswer>> {
    let taken = cofferdam_runner::evict(&state.store, id).await?;
    let taken_back = taken.ok_or_else(|| no_such_worker(id))? as u64;
    Ok(Json(EvictAnswer { id, taken_back }))
}

fn no_such_worker(id: WorkerId) -> Problem {
    Problem::not_found("no-such-worker", format!("there is no worker {id}"))
        .hint("`cofferdam worker list` shows those that are registered")
}
