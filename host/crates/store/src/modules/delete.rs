//! Which version is current, which may run, and which are no more.

use super::publish::lock_digest;
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::ids::TenantId;
use cofferdam_core::module::VersionName;
use cofferdam_core::name::ModuleName;
use sqlx::PgConnection;
use uuid::Uuid;

const JOBS_IN_USE: &str = include_str!("../../queries/modules/jobs_in_use.sql");
const DELETE_VERSIONS: &str = include_str!("../../queries/modules/delete_versions.sql");
const LIFT: &str = include_str!("../../queries/quarantine/lift.sql");
const DELETE_BLOB: &str = include_str!("../../queries/modules/delete_blob.sql");
/// Locks the module, as a publication does.
const LOCK: &str = "SELECT id FROM modules \
                    WHERE tenant_id = $1 AND name = $2 AND deleted_at IS NULL FOR UPDATE";
const FIND_VERSION: &str = "SELECT id FROM module_versions \
                            WHERE module_id = $1 AND name = $2 AND deleted_at IS NULL";
const ACTIVATE: &str =
    "UPDATE modules SET current_version_id = $2, updated_at = now() WHERE id = $1";
const DELETE_MODULE: &str = "UPDATE modules SET deleted_at = now() WHERE id = $1";

/// How far the jobs are counted that stand against a deletion.
const MAX_COUNT: i64 = 1000;

impl Store {
    /// Makes a version current: jobs that name none run it from their next claim on.
    pub async fn activate(
        &self,
        tenant: TenantId,
        name: &ModuleName,
        version: &VersionName,
    ) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        let module = lock(&mut transaction, tenant, name).await?;
        let id = find_version(&mut transaction, module, name, version).await?;
        sqlx::query(ACTIVATE).bind(module).bind(id).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Lifts the quarantine of a version, and forgets what it did: its jobs become claimable with
    /// the next sweep. `false`: it was not in quarantine.
    pub async fn lift_version(
        &self,
        tenant: TenantId,
        name: &ModuleName,
        version: &VersionName,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.begin().await?;
        let module = lock(&mut transaction, tenant, name).await?;
        let id = find_version(&mut transaction, module, name, version).await?;
        let lifted = sqlx::query(LIFT).bind(id).fetch_optional(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(lifted.is_some())
    }

    /// Deletes a version, unless jobs that have not ended need it. When it is current, none is
    /// afterwards. Its name stays taken; its bytes go when no other version has the same.
    ///
    /// A job that is submitted for it at this very moment fails as not runnable.
    pub async fn delete_version(
        &self,
        tenant: TenantId,
        name: &ModuleName,
        version: &VersionName,
    ) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        let module = lock(&mut transaction, tenant, name).await?;
        let id = find_version(&mut transaction, module, name, version).await?;
        let what = || format!("`{name}@{version}`");
        refuse_in_use(&mut transaction, module, Some(id), what).await?;
        delete_versions(&mut transaction, module, Some(id)).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Deletes a module with its versions, unless jobs that have not ended need one. Its name is
    /// free afterwards.
    pub async fn delete_module(
        &self,
        tenant: TenantId,
        name: &ModuleName,
    ) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        let module = lock(&mut transaction, tenant, name).await?;
        refuse_in_use(&mut transaction, module, None, || format!("`{name}`")).await?;
        delete_versions(&mut transaction, module, None).await?;
        sqlx::query(DELETE_MODULE).bind(module).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(())
    }
}

async fn lock(
    connection: &mut PgConnection,
    tenant: TenantId,
    name: &ModuleName,
) -> Result<Uuid, StoreError> {
    let module: Option<Uuid> = sqlx::query_scalar(LOCK)
        .bind(tenant.as_uuid())
        .bind(name.as_str())
        .fetch_optional(connection)
        .await?;
    module.ok_or_else(|| StoreError::NoSuchModule(name.clone()))
}

async fn find_version(
    connection: &mut PgConnection,
    module: Uuid,
    name: &ModuleName,
    version: &VersionName,
) -> Result<Uuid, StoreError> {
    let id: Option<Uuid> = sqlx::query_scalar(FIND_VERSION)
        .bind(module)
        .bind(version.as_str())
        .fetch_optional(connection)
        .await?;
    id.ok_or_else(|| StoreError::NoSuchVersion { name: name.clone(), version: version.clone() })
}

async fn refuse_in_use(
    connection: &mut PgConnection,
    module: Uuid,
    version: Option<Uuid>,
    what: impl Fn() -> String,
) -> Result<(), StoreError> {
    let jobs: i64 = sqlx::query_scalar(JOBS_IN_USE)
        .bind(module)
        .bind(version)
        .bind(MAX_COUNT)
        .fetch_one(connection)
        .await?;
    match jobs {
        0 => Ok(()),
        MAX_COUNT.. => {
            Err(StoreError::InUse { what: what(), jobs: format!("{MAX_COUNT} or more") })
        }
        some => Err(StoreError::InUse { what: what(), jobs: some.to_string() }),
    }
}

async fn delete_versions(
    connection: &mut PgConnection,
    module: Uuid,
    version: Option<Uuid>,
) -> Result<(), StoreError> {
    let mut digests: Vec<Vec<u8>> = sqlx::query_scalar(DELETE_VERSIONS)
        .bind(module)
        .bind(version)
        .fetch_all(&mut *connection)
        .await?;
    // In order, so that two deletions that share digests cannot deadlock.
    digests.sort();
    digests.dedup();
    for digest in digests {
        // The look for other versions must come after the lock, in a statement of its own.
        lock_digest(connection, &digest).await?;
        sqlx::query(DELETE_BLOB).bind(&digest).execute(&mut *connection).await?;
    }
    Ok(())
}
