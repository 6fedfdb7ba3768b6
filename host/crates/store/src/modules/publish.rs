//! New versions.

use crate::convert::{convert, length, millis_at_least_one, to_json};
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::ids::{ModuleId, TenantId, VersionId};
use cofferdam_core::manifest::Manifest;
use cofferdam_core::module::{Digest, KindInfo, VersionName, World};
use cofferdam_core::name::ModuleName;
use cofferdam_core::settings::KindSettings;
use serde_json::Value;
use sqlx::PgConnection;
use sqlx::types::Json;
use std::collections::BTreeMap;
use uuid::Uuid;

const UPSERT: &str = include_str!("../../queries/modules/upsert.sql");
const FIND_SAME: &str = include_str!("../../queries/modules/find_same.sql");
const NEXT_NAME: &str = include_str!("../../queries/modules/next_name.sql");
const INSERT_VERSION: &str = include_str!("../../queries/modules/insert_version.sql");
const INSERT_KINDS: &str = include_str!("../../queries/modules/insert_kinds.sql");
const ACTIVE_AFTER: &str = include_str!("../../queries/modules/active_after.sql");
const INSERT_BLOB: &str =
    "INSERT INTO blobs (digest, bytes) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING";
const UNDELETE: &str = "UPDATE module_versions SET deleted_at = NULL WHERE id = $1";
const LOCK_DIGEST: &str =
    "SELECT pg_advisory_xact_lock(hashtextextended('blob ' || encode($1, 'hex'), 0))";

/// A version to publish: checked, compiled and described.
#[derive(Clone, Debug)]
pub struct NewVersion {
    /// Its owner.
    pub tenant: TenantId,
    /// The module, which is made when there is none of this name.
    pub name: ModuleName,
    /// The version's name; `None` to have one counted up.
    pub version: Option<VersionName>,
    /// The digest of the bytes.
    pub digest: Digest,
    /// The component.
    pub bytes: Vec<u8>,
    /// Its world.
    pub world: World,
    /// What it imports.
    pub imports: Vec<String>,
    /// What its author asks for.
    pub manifest: Manifest,
    /// What it handles, and the options of each kind.
    pub kinds: Vec<(KindInfo, KindSettings)>,
    /// Whether it becomes current.
    pub activate: bool,
}

/// What came of a publication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// The module.
    pub module: ModuleId,
    /// The version.
    pub version: VersionId,
    /// Its name.
    pub version_name: VersionName,
    /// Whether it is new. If not, the same had been published before.
    pub created: bool,
    /// Whether it is current.
    pub active: bool,
}

#[derive(sqlx::FromRow)]
struct Found {
    id: Uuid,
    name: String,
    deleted: bool,
    matches: bool,
}

/// Waits until nobody else adds or deletes the bytes of a digest. Held until the transaction ends.
pub(super) async fn lock_digest(
    connection: &mut PgConnection,
    digest: &[u8],
) -> Result<(), StoreError> {
    sqlx::query(LOCK_DIGEST).bind(digest).execute(connection).await?;
    Ok(())
}

impl Store {
    /// Stores a version in one transaction.
    ///
    /// The same component with the same manifest and options is the same version: publishing it
    /// again changes nothing but, where asked for, which version is current. Another one under a
    /// name that is taken is a [`StoreError::VersionConflict`].
    pub async fn publish(&self, new: &NewVersion) -> Result<Published, StoreError> {
        let manifest = to_json("manifest", &new.manifest)?;
        let mut transaction = self.begin().await?;
        let module: Uuid = sqlx::query_scalar(UPSERT)
            .bind(Uuid::now_v7())
            .bind(new.tenant.as_uuid())
            .bind(new.name.as_str())
            .fetch_one(&mut *transaction)
            .await?;
        let found = find_same(&mut transaction, module, new, &manifest).await?;
        let (version, name, created) = if let Some(found) = found {
            let version = convert("version's name", found.name)?;
            if !found.matches {
                return Err(StoreError::VersionConflict { name: new.name.clone(), version });
            }
            if found.deleted {
                insert_blob(&mut transaction, new).await?;
                sqlx::query(UNDELETE).bind(found.id).execute(&mut *transaction).await?;
            }
            (found.id, version, found.deleted)
        } else {
            let (id, name) = insert(&mut transaction, module, new, &manifest).await?;
            (id, name, true)
        };
        let active: bool = sqlx::query_scalar(ACTIVE_AFTER)
            .bind(module)
            .bind(version)
            .bind(new.activate)
            .fetch_one(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(Published {
            module: ModuleId::from_uuid(module),
            version: VersionId::from_uuid(version),
            version_name: name,
            created,
            active,
        })
    }
}

async fn find_same(
    connection: &mut PgConnection,
    module: Uuid,
    new: &NewVersion,
    manifest: &Json<Value>,
) -> Result<Option<Found>, StoreError> {
    let settled: BTreeMap<&str, &KindSettings> =
        new.kinds.iter().map(|(info, settings)| (info.name.as_str(), settings)).collect();
    let found = sqlx::query_as(FIND_SAME)
        .bind(module)
        .bind(new.version.as_ref().map(VersionName::as_str))
        .bind(new.digest.as_bytes().as_slice())
        .bind(manifest)
        .bind(to_json("kind's options", &settled)?)
        .fetch_optional(connection)
        .await?;
    Ok(found)
}

async fn insert(
    connection: &mut PgConnection,
    module: Uuid,
    new: &NewVersion,
    manifest: &Json<Value>,
) -> Result<(Uuid, VersionName), StoreError> {
    let id = Uuid::now_v7();
    let name = if let Some(name) = &new.version {
        name.clone()
    } else {
        let next: String =
            sqlx::query_scalar(NEXT_NAME).bind(module).fetch_one(&mut *connection).await?;
        convert("version's name", next)?
    };
    insert_blob(connection, new).await?;
    sqlx::query(INSERT_VERSION)
        .bind(id)
        .bind(new.tenant.as_uuid())
        .bind(module)
        .bind(name.as_str())
        .bind(new.digest.as_bytes().as_slice())
        .bind(length(new.bytes.len()))
        .bind(new.world.as_str())
        .bind(&new.imports)
        .bind(manifest)
        .execute(&mut *connection)
        .await?;
    let infos = new.kinds.iter().map(|(info, _)| to_json("kind", info));
    let settings = new.kinds.iter().map(|(_, settings)| to_json("kind's options", settings));
    let deadline = |settings: &KindSettings| settings.limits.deadline.map(millis_at_least_one);
    sqlx::query(INSERT_KINDS)
        .bind(id)
        .bind(new.tenant.as_uuid())
        .bind(new.kinds.iter().map(|(info, _)| info.name.as_str()).collect::<Vec<_>>())
        .bind(infos.collect::<Result<Vec<_>, _>>()?)
        .bind(settings.collect::<Result<Vec<_>, _>>()?)
        .bind(new.kinds.iter().map(|(_, settings)| deadline(settings)).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    Ok((id, name))
}

async fn insert_blob(connection: &mut PgConnection, new: &NewVersion) -> Result<(), StoreError> {
    lock_digest(connection, new.digest.as_bytes()).await?;
    sqlx::query(INSERT_BLOB)
        .bind(new.digest.as_bytes().as_slice())
        .bind(&new.bytes)
        .execute(connection)
        .await?;
    Ok(())
}
