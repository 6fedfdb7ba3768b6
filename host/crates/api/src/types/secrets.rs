//! Secrets, without their values.

use cofferdam_core::Time;
use cofferdam_core::secret::SecretName;
use cofferdam_store::SecretInfo;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A secret, of which all but the value may be known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SecretView {
    /// Its name.
    #[schema(value_type = String)]
    pub name: SecretName,
    /// When there was first one of this name.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Time,
    /// When it was set last.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Time,
}

impl From<SecretInfo> for SecretView {
    fn from(secret: SecretInfo) -> Self {
        let SecretInfo { name, created_at, updated_at } = secret;
        Self { name, created_at, updated_at }
    }
}
