//! From a reference to what it means.

use crate::convert::{convert, from_json, parse};
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::ids::{ModuleId, TenantId, VersionId};
use cofferdam_core::module::{Digest, KindInfo, ModuleRef, VersionName, World};
use cofferdam_core::name::KindName;
use cofferdam_core::settings::KindSettings;
use serde_json::Value;
use sqlx::types::Json;
use uuid::Uuid;

const RESOLVE: &str = include_str!("../../queries/modules/resolve.sql");
const KIND_INFO: &str = "SELECT info FROM kinds WHERE version_id = $1 AND name = $2";
const COMPONENT: &str = "SELECT bytes FROM blobs WHERE digest = $1";

/// The version that a reference means.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The module.
    pub module: ModuleId,
    /// The version: the one that was named, or the current one.
    pub version: VersionId,
    /// Its name.
    pub version_name: VersionName,
    /// Its component.
    pub digest: Digest,
    /// Its world.
    pub world: World,
    /// What it handles, and the options of each kind, by name.
    pub kinds: Vec<(KindInfo, KindSettings)>,
}

#[derive(sqlx::FromRow)]
struct Row {
    module_id: Uuid,
    version_id: Option<Uuid>,
    version_name: Option<String>,
    digest: Option<Vec<u8>>,
    world: Option<String>,
    kinds: Json<Value>,
}

impl Row {
    fn resolved(self) -> Result<Option<Resolved>, StoreError> {
        let (Some(version), Some(name), Some(digest), Some(world)) =
            (self.version_id, self.version_name, self.digest, self.world)
        else {
            return Ok(None);
        };
        Ok(Some(Resolved {
            module: ModuleId::from_uuid(self.module_id),
            version: VersionId::from_uuid(version),
            version_name: convert("version's name", name)?,
            digest: convert("version's digest", digest.as_slice())?,
            world: parse("version's world", &world)?,
            kinds: from_json("kinds", self.kinds)?,
        }))
    }
}

impl Store {
    /// Finds the version that a reference means, whatever kind it names. `None`: the tenant has no
    /// such module or version, or no version is current.
    pub async fn resolve(
        &self,
        tenant: TenantId,
        reference: &ModuleRef,
    ) -> Result<Option<Resolved>, StoreError> {
        let row: Option<Row> = sqlx::query_as(RESOLVE)
            .bind(tenant.as_uuid())
            .bind(reference.name.as_str())
            .bind(reference.version.as_ref().map(VersionName::as_str))
            .fetch_optional(self.pool())
            .await?;
        row.map_or(Ok(None), Row::resolved)
    }

    /// What a version says of one of its kinds.
    pub async fn kind_info(
        &self,
        version: VersionId,
        kind: &KindName,
    ) -> Result<Option<KindInfo>, StoreError> {
        let info: Option<Json<Value>> = sqlx::query_scalar(KIND_INFO)
            .bind(version.as_uuid())
            .bind(kind.as_str())
            .fetch_optional(self.pool())
            .await?;
        info.map(|info| from_json("kind", info)).transpose()
    }

    /// The bytes of a component; `None` when no version has them any more. The caller compares
    /// them with the digest before it runs them.
    pub async fn component_bytes(&self, digest: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let query = sqlx::query_scalar(COMPONENT).bind(digest.as_bytes().as_slice());
        Ok(query.fetch_optional(self.pool()).await?)
    }
}
