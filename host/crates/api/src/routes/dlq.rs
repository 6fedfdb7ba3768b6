//! The dead-letter queue.

use super::jobs;
use crate::app::Shared;
use crate::body;
use crate::error::{Answer, Problem};
use crate::extract::{JobPath, Query, Tenant};
use crate::page;
use crate::types::{
    DlqDetail, DlqQuery, DlqView, Page, PurgeBody, Purged, Retried, RetryAllBody, RetryVersion,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use cofferdam_core::ids::{JobId, TenantId, VersionId};
use cofferdam_core::name::{KindName, ModuleName};
use cofferdam_store::{DlqFilter, Revive};
use std::collections::HashMap;

/// The most ids in one request.
const MAX_IDS: usize = 1000;
/// How many letters are read or deleted in one statement.
const BATCH: usize = 500;

/// Dead letters
///
/// Newest job first.
#[utoipa::path(
    get, path = "/api/v1/dlq",
    operation_id = "list_dead_letters", tag = "dead letters",
    params(DlqQuery),
    responses((status = 200, description = "A page of them", body = Page<DlqView>)),
)]
pub(crate) async fn list(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    Query(query): Query<DlqQuery>,
) -> Answer<Json<Page<DlqView>>> {
    let limit = page::limit(query.limit)?;
    let before = page::cursor(query.before.as_deref(), "before")?;
    let filter = DlqFilter { kind: query.kind, ..DlqFilter::default() };
    let wanted = page::one_more(before, limit);
    let rows = state.store.dlq_list(tenant, &filter, wanted).await?;
    Ok(Json(page::page(rows, limit, |row| row.id.to_string())))
}

/// A dead letter
///
/// Everything that explains it: errors, the end of its log, digest, limits, usage.
#[utoipa::path(
    get, path = "/api/v1/dlq/{id}",
    operation_id = "show_dead_letter", tag = "dead letters",
    params(("id" = String, Path, format = Uuid, description = "The job")),
    responses((status = 200, description = "The letter", body = DlqDetail)),
)]
pub(crate) async fn show(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    JobPath(id): JobPath,
) -> Answer<Json<DlqDetail>> {
    let letter = state.store.dlq_show(tenant, id).await?.ok_or_else(|| {
        Problem::not_found("no-such-letter", format!("job {id} is not in the dead-letter queue"))
    })?;
    Ok(Json(DlqDetail::from(letter)))
}

/// Retry dead letters
///
/// Makes those that are meant claimable again, one after the other: an answer that does not come
/// leaves some of them retried.
#[utoipa::path(
    post, path = "/api/v1/dlq/retry",
    operation_id = "retry_dead_letters", tag = "dead letters",
    request_body = RetryAllBody,
    responses((status = 202, description = "They will run", body = Retried)),
)]
pub(crate) async fn retry(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    body::Json(body, _room): body::Json<RetryAllBody>,
) -> Answer<(StatusCode, Json<Retried>)> {
    let filter = filter(body.ids, body.kind, body.all)?;
    let mut versions = Versions { wanted: body.version, known: HashMap::new() };
    let mut count = Retried { retried: 0, skipped: 0 };
    // Each page begins behind the last one, so a letter that comes back is not met twice.
    let mut before = None;
    loop {
        let page = cofferdam_store::Page { before, limit: BATCH };
        let letters = state.store.dlq_list(tenant, &filter, page).await?;
        before = letters.last().map(|letter| letter.id);
        for letter in &letters {
            match versions.of(&state, tenant, &letter.module).await? {
                Run::Missing => count.skipped += 1,
                Run::Version(version) => {
                    match state.store.revive(tenant, letter.id, version).await? {
                        Revive::Revived => count.retried += 1,
                        Revive::NoSuchVersion => count.skipped += 1,
                        // Someone else retried or purged it in between.
                        Revive::NotPossible(_) | Revive::NotFound => {}
                    }
                }
            }
        }
        if letters.len() < BATCH {
            return Ok((StatusCode::ACCEPTED, Json(count)));
        }
    }
}

/// What letters of each module run when they are retried.
struct Versions {
    wanted: RetryVersion,
    known: HashMap<ModuleName, Run>,
}

/// What a letter runs.
#[derive(Clone, Copy)]
enum Run {
    /// This version; `None` for the one that was asked for at first.
    Version(Option<VersionId>),
    /// Nothing: its module has no such version.
    Missing,
}

impl Versions {
    async fn of(&mut self, state: &Shared, tenant: TenantId, module: &ModuleName) -> Answer<Run> {
        if self.wanted == RetryVersion::Same {
            return Ok(Run::Version(None));
        }
        if let Some(run) = self.known.get(module) {
            return Ok(*run);
        }
        let version = jobs::version_of(state, tenant, module, &self.wanted).await?;
        let run = version.map_or(Run::Missing, |version| Run::Version(Some(version)));
        self.known.insert(module.clone(), run);
        Ok(run)
    }
}

/// Purge dead letters
///
/// Deletes those that are meant for good, with their jobs, in batches: an answer that does not
/// come leaves some of them deleted.
#[utoipa::path(
    post, path = "/api/v1/dlq/purge",
    operation_id = "purge_dead_letters", tag = "dead letters",
    request_body = PurgeBody,
    responses((status = 200, description = "They are gone", body = Purged)),
)]
pub(crate) async fn purge(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    body::Json(body, _room): body::Json<PurgeBody>,
) -> Answer<Json<Purged>> {
    let filter =
        DlqFilter { older_than: body.older_than, ..filter(body.ids, body.kind, body.all)? };
    let mut count = Purged { purged: 0 };
    loop {
        let purged = state.store.dlq_purge(tenant, &filter, BATCH).await?;
        count.purged += purged;
        if purged < BATCH as u64 {
            return Ok(Json(count));
        }
    }
}

/// Which letters are meant. Exactly one of the three ways to say it: a request that means every
/// one by accident would be hard to take back.
fn filter(ids: Vec<JobId>, kind: Option<KindName>, all: bool) -> Answer<DlqFilter> {
    if ids.len() > MAX_IDS {
        let count = ids.len();
        let detail = format!("{count} ids are more than the {MAX_IDS} that one request may name");
        return Err(Problem::invalid("too-many-ids", detail).field("ids"));
    }
    match (ids.is_empty(), &kind, all) {
        (false, None, false) | (true, Some(_), false) | (true, None, true) => {
            Ok(DlqFilter { ids, kind, older_than: None })
        }
        _ => Err(Problem::invalid(
            "ambiguous-selection",
            "say exactly one of `ids`, `kind` and `all: true`",
        )),
    }
}
