//! Looking at modules.

use crate::convert::{convert, from_json, length, parse, unsigned};
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::Time;
use cofferdam_core::ids::{ModuleId, TenantId, VersionId};
use cofferdam_core::manifest::Manifest;
use cofferdam_core::module::{Digest, KindInfo, VersionName, World};
use cofferdam_core::name::{KindName, ModuleName};
use cofferdam_core::settings::KindSettings;
use serde_json::Value;
use sqlx::types::Json;
use uuid::Uuid;

const LIST: &str = include_str!("../../queries/modules/list.sql");
const VERSIONS: &str = include_str!("../../queries/modules/versions.sql");
const FIND: &str = "SELECT id, created_at FROM modules \
                    WHERE tenant_id = $1 AND name = $2 AND deleted_at IS NULL";

/// A module as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleSummary {
    /// Its id.
    pub id: ModuleId,
    /// Its name.
    pub name: ModuleName,
    /// The version that is current.
    pub current: Option<VersionName>,
    /// Since when that one is in quarantine.
    pub quarantined_at: Option<Time>,
    /// How many versions it has.
    pub versions: u64,
    /// When its first version was published.
    pub created_at: Time,
    /// What the current version handles, by name.
    pub kinds: Vec<KindName>,
}

/// A module with its versions.
#[derive(Clone, Debug)]
pub struct ModuleDetail {
    /// Its id.
    pub id: ModuleId,
    /// Its name.
    pub name: ModuleName,
    /// When its first version was published.
    pub created_at: Time,
    /// Its versions, newest first.
    pub versions: Vec<VersionDetail>,
}

impl ModuleDetail {
    /// The version that is current.
    pub fn current(&self) -> Option<&VersionDetail> {
        self.versions.iter().find(|version| version.active)
    }

    /// The version of a name.
    pub fn version(&self, name: &VersionName) -> Option<&VersionDetail> {
        self.versions.iter().find(|version| version.name == *name)
    }
}

/// A version.
#[derive(Clone, Debug)]
pub struct VersionDetail {
    /// Its id.
    pub id: VersionId,
    /// Its name.
    pub name: VersionName,
    /// Its component.
    pub digest: Digest,
    /// Its world.
    pub world: World,
    /// The size of its component.
    pub bytes: u64,
    /// What it imports.
    pub imports: Vec<String>,
    /// What its author asks for.
    pub manifest: Manifest,
    /// When it was published.
    pub created_at: Time,
    /// Whether it is current.
    pub active: bool,
    /// Since when no claim takes its jobs, because its guests kill the processes that they run in.
    pub quarantined_at: Option<Time>,
    /// What it did.
    pub quarantine_reason: Option<String>,
    /// What it handles, and the options of each kind, by name.
    pub kinds: Vec<(KindInfo, KindSettings)>,
}

#[derive(sqlx::FromRow)]
struct SummaryRow {
    id: Uuid,
    name: String,
    created_at: Time,
    current: Option<String>,
    quarantined_at: Option<Time>,
    versions: i64,
    kinds: Vec<String>,
}

#[derive(sqlx::FromRow)]
struct VersionRow {
    id: Uuid,
    name: String,
    digest: Vec<u8>,
    size_bytes: i64,
    world: String,
    imports: Vec<String>,
    manifest: Json<Value>,
    created_at: Time,
    active: bool,
    quarantined_at: Option<Time>,
    quarantine_reason: Option<String>,
    kinds: Json<Value>,
}

impl TryFrom<SummaryRow> for ModuleSummary {
    type Error = StoreError;

    fn try_from(row: SummaryRow) -> Result<Self, StoreError> {
        let kinds = row.kinds.into_iter().map(|name| convert("kind's name", name));
        Ok(Self {
            id: ModuleId::from_uuid(row.id),
            name: convert("module's name", row.name)?,
            current: row.current.map(|name| convert("version's name", name)).transpose()?,
            quarantined_at: row.quarantined_at,
            versions: unsigned(row.versions),
            created_at: row.created_at,
            kinds: kinds.collect::<Result<_, _>>()?,
        })
    }
}

impl TryFrom<VersionRow> for VersionDetail {
    type Error = StoreError;

    fn try_from(row: VersionRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: VersionId::from_uuid(row.id),
            name: convert("version's name", row.name)?,
            digest: convert("version's digest", row.digest.as_slice())?,
            world: parse("version's world", &row.world)?,
            bytes: unsigned(row.size_bytes),
            imports: row.imports,
            manifest: from_json("manifest", row.manifest)?,
            created_at: row.created_at,
            active: row.active,
            quarantined_at: row.quarantined_at,
            quarantine_reason: row.quarantine_reason,
            kinds: from_json("kinds", row.kinds)?,
        })
    }
}

impl Store {
    /// Up to `limit` modules of a tenant by name, from behind `after` on.
    pub async fn modules(
        &self,
        tenant: TenantId,
        after: Option<&ModuleName>,
        limit: usize,
    ) -> Result<Vec<ModuleSummary>, StoreError> {
        let rows: Vec<SummaryRow> = sqlx::query_as(LIST)
            .bind(tenant.as_uuid())
            .bind(after.map(ModuleName::as_str))
            .bind(length(limit))
            .fetch_all(self.pool())
            .await?;
        rows.into_iter().map(ModuleSummary::try_from).collect()
    }

    /// A module with its versions; `None` when the tenant has none of this name.
    pub async fn module(
        &self,
        tenant: TenantId,
        name: &ModuleName,
    ) -> Result<Option<ModuleDetail>, StoreError> {
        let found: Option<(Uuid, Time)> = sqlx::query_as(FIND)
            .bind(tenant.as_uuid())
            .bind(name.as_str())
            .fetch_optional(self.pool())
            .await?;
        let Some((id, created_at)) = found else { return Ok(None) };
        let rows: Vec<VersionRow> =
            sqlx::query_as(VERSIONS).bind(id).fetch_all(self.pool()).await?;
        let versions = rows.into_iter().map(VersionDetail::try_from);
        Ok(Some(ModuleDetail {
            id: ModuleId::from_uuid(id),
            name: name.clone(),
            created_at,
            versions: versions.collect::<Result<_, _>>()?,
        }))
    }
}
