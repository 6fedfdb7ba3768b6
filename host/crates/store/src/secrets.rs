//! Secrets of tenants, sealed. Nothing here has the key, or knows what is in them.

use crate::convert::{convert, length};
use crate::error::StoreError;
use crate::store::Store;
use cofferdam_core::Time;
use cofferdam_core::ids::TenantId;
use cofferdam_core::secret::{MAX_SECRETS, SecretName};

const LOCK: &str = include_str!("../queries/secrets/lock.sql");
const PUT: &str = include_str!("../queries/secrets/put.sql");
const LIST: &str = include_str!("../queries/secrets/list.sql");
const READ: &str = include_str!("../queries/secrets/read.sql");
const DELETE: &str = include_str!("../queries/secrets/delete.sql");

/// What came of storing a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretPut {
    /// There was none of its name.
    Created,
    /// It took the place of the one of its name.
    Replaced,
    /// Nothing was stored: the tenant has [`MAX_SECRETS`] others.
    TooMany,
}

/// A secret as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretInfo {
    /// Its name.
    pub name: SecretName,
    /// When there was first one of this name.
    pub created_at: Time,
    /// When it was set last.
    pub updated_at: Time,
}

impl Store {
    /// Stores a sealed secret in the place of the one of its name, if there is one.
    pub async fn put_secret(
        &self,
        tenant: TenantId,
        name: &SecretName,
        sealed: &[u8],
    ) -> Result<SecretPut, StoreError> {
        let mut transaction = self.begin().await?;
        let putting = async {
            sqlx::query(LOCK).bind(tenant.as_uuid()).execute(&mut *transaction).await?;
            let added: Option<bool> = sqlx::query_scalar(PUT)
                .bind(tenant.as_uuid())
                .bind(name.as_str())
                .bind(sealed)
                .bind(length(MAX_SECRETS))
                .fetch_optional(&mut *transaction)
                .await?;
            Ok(added)
        };
        let added = self.in_time(putting).await?;
        self.commit(transaction).await?;
        Ok(match added {
            Some(true) => SecretPut::Created,
            Some(false) => SecretPut::Replaced,
            None => SecretPut::TooMany,
        })
    }

    /// A tenant's secrets by name.
    pub async fn secrets(&self, tenant: TenantId) -> Result<Vec<SecretInfo>, StoreError> {
        let rows: Vec<(String, Time, Time)> = sqlx::query_as(LIST)
            .bind(tenant.as_uuid())
            .bind(length(MAX_SECRETS))
            .fetch_all(self.pool())
            .await?;
        rows.into_iter()
            .map(|(name, created_at, updated_at)| {
                Ok(SecretInfo { name: convert("secret's name", name)?, created_at, updated_at })
            })
            .collect()
    }

    /// What was sealed under some names of a tenant, in one statement and in no order. A name that
    /// the tenant has no secret of is left out.
    pub async fn sealed_secrets(
        &self,
        tenant: TenantId,
        names: &[SecretName],
    ) -> Result<Vec<(SecretName, Vec<u8>)>, StoreError> {
        let rows: Vec<(String, Vec<u8>)> = sqlx::query_as(READ)
            .bind(tenant.as_uuid())
            .bind(names.iter().map(SecretName::as_str).collect::<Vec<_>>())
            .fetch_all(self.pool())
            .await?;
        rows.into_iter()
            .map(|(name, sealed)| Ok((convert("secret's name", name)?, sealed)))
            .collect()
    }

    /// Deletes a secret. `false`: the tenant has none of this name.
    pub async fn delete_secret(
        &self,
        tenant: TenantId,
        name: &SecretName,
    ) -> Result<bool, StoreError> {
        let deleted = sqlx::query(DELETE)
            .bind(tenant.as_uuid())
            .bind(name.as_str())
            .fetch_optional(self.pool())
            .await?;
        Ok(deleted.is_some())
    }
}
