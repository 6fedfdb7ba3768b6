//! Modules and their versions.

use crate::app::Shared;
use crate::error::{Answer, Problem};
use crate::extract::{ModulePath, Query, Tenant, VersionPath};
use crate::page;
use crate::types::{
    KindView, ModuleDetail, ModuleVersion, ModuleView, Page, PageQuery, PublishForm, PublishQuery,
    VersionDetail,
};
use crate::upload::{self, Upload};
use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use cofferdam_core::ids::TenantId;
use cofferdam_core::name::ModuleName;
use cofferdam_core::settings::KindSettings;
use cofferdam_runner::PublishRequest;
use cofferdam_store::{self as store, StoreError};

/// Publish a version
///
/// Takes a component and, before it, a manifest. The version is stored only when the component
/// is sound, compiles, and can say what it handles; it becomes current unless told otherwise.
/// Publishing the same bytes again is answered with the version that is there (200).
#[utoipa::path(
    post, path = "/api/v1/modules",
    operation_id = "publish_version", tag = "modules",
    params(PublishQuery),
    request_body(content = PublishForm, content_type = "multipart/form-data"),
    responses(
        (status = 201, description = "Published", body = ModuleVersion),
        (status = 200, description = "Had been published before", body = ModuleVersion),
    ),
)]
pub(crate) async fn publish(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    Query(query): Query<PublishQuery>,
    request: Request,
) -> Answer<(StatusCode, Json<ModuleVersion>)> {
    let (parts, body) = request.into_parts();
    let most = usize::try_from(upload::MAX_BYTES).unwrap_or(usize::MAX);
    let _room =
        state.budget.room(crate::body::announced(&parts.headers).unwrap_or(most).min(most)).await?;
    let Upload { manifest, component } = upload::read(&parts.headers, body).await?;

    let request = PublishRequest {
        name: query.name,
        version: query.version,
        manifest: manifest.clone(),
        activate: query.activate.unwrap_or(true),
    };
    let done = state.publisher.publish(tenant, component, request).await?;
    let settle = |kind| {
        let settings = KindSettings::settle(&kind, &manifest);
        KindView::new(kind, settings)
    };
    let version = ModuleVersion {
        module: done.name,
        version: done.version,
        digest: done.digest,
        world: done.world,
        kinds: done.kinds.into_iter().map(settle).collect(),
        bytes: done.bytes,
        imports: done.imports,
        created: done.created,
        active: done.active,
        compile_ms: done.compile_ms,
    };
    let status = if version.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(version)))
}

/// Modules
///
/// By name.
#[utoipa::path(
    get, path = "/api/v1/modules",
    operation_id = "list_modules", tag = "modules",
    params(PageQuery),
    responses((status = 200, description = "A page of them", body = Page<ModuleView>)),
)]
pub(crate) async fn list(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    Query(query): Query<PageQuery>,
) -> Answer<Json<Page<ModuleView>>> {
    let limit = page::limit(query.limit)?;
    let after: Option<ModuleName> = page::cursor(query.before.as_deref(), "before")?;
    let rows = state.store.modules(tenant, after.as_ref(), limit as usize + 1).await?;
    Ok(Json(page::page(rows, limit, |row| row.name.to_string())))
}

/// A module
///
/// Its versions, and what the current one handles.
#[utoipa::path(
    get, path = "/api/v1/modules/{name}",
    operation_id = "show_module", tag = "modules",
    params(("name" = String, Path, description = "The module")),
    responses((status = 200, description = "The module", body = ModuleDetail)),
)]
pub(crate) async fn show(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    ModulePath(name): ModulePath,
) -> Answer<Json<ModuleDetail>> {
    Ok(Json(ModuleDetail::from(find(&state, tenant, name).await?)))
}

/// A version
///
/// Everything about it but its bytes.
#[utoipa::path(
    get, path = "/api/v1/modules/{name}/versions/{version}", tag = "modules",
    params(
        ("name" = String, Path, description = "The module"),
        ("version" = String, Path, description = "The version"),
    ),
    responses((status = 200, description = "The version", body = VersionDetail)),
)]
pub(crate) async fn show_version(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    VersionPath(name, version): VersionPath,
) -> Answer<Json<VersionDetail>> {
    let module = find(&state, tenant, name.clone()).await?;
    let found = module.version(&version).cloned();
    let found = found.ok_or(StoreError::NoSuchVersion { name, version })?;
    Ok(Json(VersionDetail::new(module.name, found)))
}

async fn find(state: &Shared, tenant: TenantId, name: ModuleName) -> Answer<store::ModuleDetail> {
    let module = state.store.module(tenant, &name).await?;
    Ok(module.ok_or(StoreError::NoSuchModule(name))?)
}

/// Activate a version
///
/// Jobs that name no version run this one from their next claim on.
#[utoipa::path(
    post, path = "/api/v1/modules/{name}/versions/{version}/activate",
    operation_id = "activate_version", tag = "modules",
    params(
        ("name" = String, Path, description = "The module"),
        ("version" = String, Path, description = "The version"),
    ),
    responses((status = 200, description = "It is current", body = ModuleDetail)),
)]
pub(crate) async fn activate(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    VersionPath(name, version): VersionPath,
) -> Answer<Json<ModuleDetail>> {
    state.store.activate(tenant, &name, &version).await?;
    Ok(Json(ModuleDetail::from(find(&state, tenant, name).await?)))
}

/// Lift the quarantine of a version
///
/// Lets its jobs be claimed again, within seconds, and forgets what it did.
#[utoipa::path(
    post, path = "/api/v1/modules/{name}/versions/{version}/lift",
    operation_id = "lift_version", tag = "modules",
    params(
        ("name" = String, Path, description = "The module"),
        ("version" = String, Path, description = "The version"),
    ),
    responses((status = 200, description = "It is out of quarantine", body = VersionDetail)),
)]
pub(crate) async fn lift(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    VersionPath(name, version): VersionPath,
) -> Answer<Json<VersionDetail>> {
    let lifted = state.store.lift_version(tenant, &name, &version).await?;
    let module = find(&state, tenant, name.clone()).await?;
    let Some(found) = module.version(&version).cloned() else {
        return Err(StoreError::NoSuchVersion { name, version }.into());
    };
    if !lifted {
        let detail = format!("{name}@{version} is not in quarantine");
        return Err(Problem::conflict("not-quarantined", detail)
            .hint(format!("`cofferdam module show {name}` shows which versions are")));
    }
    Ok(Json(VersionDetail::new(module.name, found)))
}

/// Delete a module
///
/// With its versions, unless jobs that have not ended need one.
#[utoipa::path(
    delete, path = "/api/v1/modules/{name}",
    operation_id = "delete_module", tag = "modules",
    params(("name" = String, Path, description = "The module")),
    responses((status = 204, description = "It is gone")),
)]
pub(crate) async fn delete(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    ModulePath(name): ModulePath,
) -> Answer<StatusCode> {
    state.store.delete_module(tenant, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Delete a version
///
/// Unless jobs that have not ended need it. When it is current, none is afterwards. Its name stays
/// taken.
#[utoipa::path(
    delete, path = "/api/v1/modules/{name}/versions/{version}", tag = "modules",
    params(
        ("name" = String, Path, description = "The module"),
        ("version" = String, Path, description = "The version"),
    ),
    responses((status = 204, description = "It is gone")),
)]
pub(crate) async fn delete_version(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    VersionPath(name, version): VersionPath,
) -> Answer<StatusCode> {
    state.store.delete_version(tenant, &name, &version).await?;
    Ok(StatusCode::NO_CONTENT)
}
