//! Secrets of tenants: sealed on their way into the database, opened on their way to an attempt.
//!
//! What is opened is handed to whoever asked and kept nowhere. No error here has a value in it.

use crate::error::{ErrorKind, kind_of_store_error};
use cofferdam_core::hint::Hint;
use cofferdam_core::ids::TenantId;
use cofferdam_core::key::DerivedKey;
use cofferdam_core::secret::{
    self, MAX_SECRETS, NONCE_BYTES, SecretError, SecretName, SecretValue,
};
use cofferdam_store::{SecretInfo, SecretPut, Store, StoreError};
use std::collections::BTreeMap;
use thiserror::Error;

/// The secrets of an attempt by name. Of a name that is not in it the tenant has no secret; one
/// that does not open is there with the reason.
pub type OpenedSecrets = BTreeMap<SecretName, Result<SecretValue, SecretError>>;

/// Why nothing came of it.
#[derive(Debug, Error)]
pub enum SecretsError {
    /// This process was given no key.
    #[error("there is no key to seal secrets with")]
    NoKey,
    /// The value cannot be kept.
    #[error(transparent)]
    Value(#[from] SecretError),
    /// The tenant has as many others as it may have.
    #[error("there are {MAX_SECRETS} secrets already, the most that there may be")]
    TooMany,
    /// The tenant has none of this name.
    #[error("there is no secret `{0}`")]
    NotFound(SecretName),
    /// The database refused or is away.
    #[error("the secrets could not be read or stored")]
    Store(#[from] StoreError),
}

impl SecretsError {
    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoKey | Self::TooMany => ErrorKind::Conflict,
            Self::Value(SecretError::TooLarge { .. }) => ErrorKind::TooLarge,
            Self::Value(SecretError::Empty | SecretError::NotText) => ErrorKind::Invalid,
            Self::Value(SecretError::Sealed | SecretError::Cipher) => ErrorKind::Internal,
            Self::NotFound(_) => ErrorKind::NotFound,
            Self::Store(error) => kind_of_store_error(error),
        }
    }

    /// A short word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoKey => "no-key",
            Self::Value(SecretError::Empty) => "empty-secret",
            Self::Value(SecretError::TooLarge { .. }) => "secret-too-large",
            Self::Value(SecretError::NotText) => "secret-not-text",
            Self::TooMany => "too-many-secrets",
            Self::NotFound(_) => "no-such-secret",
            Self::Store(error) if error.is_full() => "database-full",
            Self::Store(error) if error.is_transient() => "database-unavailable",
            Self::Value(SecretError::Sealed | SecretError::Cipher) | Self::Store(_) => "internal",
        }
    }
}

impl Hint for SecretsError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoKey => {
                "set COFFERDAM_KEY or COFFERDAM_KEY_FILE, alike for every server and worker"
            }
            Self::TooMany => "delete those that nobody needs, or put several into one as JSON",
            Self::NotFound(_) => "`cofferdam secret list` shows what is there",
            Self::Value(error) => return error.hint(),
            Self::Store(error) => return error.hint(),
        };
        Some(hint.to_owned())
    }
}

/// Keeps secrets and gives them out. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Secrets {
    store: Store,
    key: Option<DerivedKey>,
}

impl Secrets {
    /// With `key`, which is derived for this purpose. Without one secrets can be listed and
    /// deleted, but neither set nor opened.
    pub fn new(store: Store, key: Option<DerivedKey>) -> Self {
        Self { store, key }
    }

    /// Sets a secret, in the place of the one of its name if there is one. Whether there was none.
    pub async fn set(
        &self,
        tenant: TenantId,
        name: &SecretName,
        value: Vec<u8>,
    ) -> Result<bool, SecretsError> {
        let key = self.key()?;
        let value = SecretValue::new(value)?;
        let nonce = rand::random::<[u8; NONCE_BYTES]>();
        let sealed = secret::seal(key, tenant, name, &value, nonce)?;
        match self.store.put_secret(tenant, name, &sealed).await? {
            SecretPut::Created => Ok(true),
            SecretPut::Replaced => Ok(false),
            SecretPut::TooMany => Err(SecretsError::TooMany),
        }
    }

    /// A tenant's secrets by name, without their values.
    pub async fn list(&self, tenant: TenantId) -> Result<Vec<SecretInfo>, SecretsError> {
        Ok(self.store.secrets(tenant).await?)
    }

    /// Deletes a secret. Attempts that were given its value have it until they end.
    pub async fn delete(&self, tenant: TenantId, name: &SecretName) -> Result<(), SecretsError> {
        if self.store.delete_secret(tenant, name).await? {
            Ok(())
        } else {
            Err(SecretsError::NotFound(name.clone()))
        }
    }

    /// Opens the secrets that an attempt was granted, all with one statement. Those that the tenant
    /// does not have are left out, and one that does not open leaves the others alone.
    pub async fn for_attempt(
        &self,
        tenant: TenantId,
        granted: &[SecretName],
    ) -> Result<OpenedSecrets, SecretsError> {
        if granted.is_empty() {
            return Ok(OpenedSecrets::new());
        }
        let key = self.key()?;
        let sealed = self.store.sealed_secrets(tenant, granted).await?;
        let open = |(name, sealed): (SecretName, Vec<u8>)| {
            let opened = secret::open(key, tenant, &name, &sealed);
            if let Err(error) = &opened {
                // Whoever wrote the handler can do nothing about it.
                tracing::warn!(%tenant, %name, %error, "a secret does not open");
            }
            (name, opened)
        };
        Ok(sealed.into_iter().map(open).collect())
    }

    fn key(&self) -> Result<&DerivedKey, SecretsError> {
        self.key.as_ref().ok_or(SecretsError::NoKey)
    }
}
