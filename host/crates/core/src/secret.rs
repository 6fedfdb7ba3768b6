//! Secrets of tenants: their names, and how they are sealed where they are kept.
//!
//! A sealed secret is AES-256-GCM (NIST SP 800-38D) with a random nonce of 96 bits before the
//! ciphertext and its tag. The tenant and the name are associated data: a sealed value that
//! somebody moves to another row of the database does not open there.

use crate::hint::Hint;
use crate::ids::TenantId;
use crate::key::DerivedKey;
use aes_gcm::aead::{Aead as _, KeyInit as _, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The longest name of a secret, in bytes.
pub const MAX_SECRET_NAME: usize = 64;
/// The largest secret, in bytes. A private key with its certificates fits.
pub const MAX_SECRET: usize = 64 * 1024;
/// The most secrets of one tenant: all that a module was granted are opened for each attempt.
pub const MAX_SECRETS: usize = 256;

/// The length of a nonce, in bytes. It is random: about 2^32 values may be sealed with one key
/// before two are alike with a probability of 2^-32 (SP 800-38D, 8.3).
pub const NONCE_BYTES: usize = 12;

/// A text that is no name of a secret.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not a valid name of a secret")]
pub struct SecretNameError {
    text: String,
}

impl Hint for SecretNameError {
    fn hint(&self) -> Option<String> {
        Some(format!(
            "use 1 to {MAX_SECRET_NAME} letters, digits and `_`, starting with a letter, such as API_KEY"
        ))
    }
}

/// The name of a secret, such as `API_KEY`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SecretName(String);

impl SecretName {
    /// Checks a text.
    pub fn new(text: impl Into<String>) -> Result<Self, SecretNameError> {
        let text = text.into();
        let good = text.len() <= MAX_SECRET_NAME
            && text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if good {
            return Ok(Self(text));
        }
        // Somebody may have given the value in place of the name: little of it is repeated.
        let mut text: String = text.chars().take(8).collect();
        text.push('…');
        Err(SecretNameError { text })
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SecretName {
    type Error = SecretNameError;
    fn try_from(text: String) -> Result<Self, SecretNameError> {
        Self::new(text)
    }
}

impl From<SecretName> for String {
    fn from(name: SecretName) -> Self {
        name.0
    }
}

impl FromStr for SecretName {
    type Err = SecretNameError;
    fn from_str(text: &str) -> Result<Self, SecretNameError> {
        Self::new(text)
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The value of a secret: a text. Never shown, and overwritten when it is dropped.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct SecretValue(String);

impl SecretValue {
    /// Takes a text of at most [`MAX_SECRET`] bytes that is not empty.
    pub fn new(bytes: Vec<u8>) -> Result<Self, SecretError> {
        if bytes.is_empty() {
            return Err(SecretError::Empty);
        }
        if bytes.len() > MAX_SECRET {
            return Err(SecretError::TooLarge { bytes: bytes.len() });
        }
        String::from_utf8(bytes).map(Self).map_err(|error| {
            error.into_bytes().zeroize();
            SecretError::NotText
        })
    }

    /// The value.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretValue(..)")
    }
}

/// Why a secret cannot be kept, or not be had back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SecretError {
    /// There is nothing to keep.
    #[error("the secret is empty")]
    Empty,
    /// It is larger than what is kept.
    #[error("the secret is {bytes} bytes, more than the {MAX_SECRET} that are kept")]
    TooLarge {
        /// How large it is.
        bytes: usize,
    },
    /// It is no text, and handlers are given texts.
    #[error("the secret is not UTF-8 text")]
    NotText,
    /// It was sealed with another key, for another tenant or under another name, or it was changed.
    #[error("the sealed secret does not open with the key of this installation")]
    Sealed,
    /// The cipher refused.
    #[error("the secret could not be sealed")]
    Cipher,
}

impl Hint for SecretError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Empty => "give the value on standard input",
            Self::TooLarge { .. } => "keep what is large elsewhere, and its key here",
            Self::NotText => "encode it, in Base64 for example, and have the handler decode it",
            Self::Sealed => {
                "every server and worker needs the same COFFERDAM_KEY; set the secret again if it is lost"
            }
            Self::Cipher => return None,
        };
        Some(hint.to_owned())
    }
}

/// Seals a value for one tenant and one name. `nonce` must be random, and never the same again.
pub fn seal(
    key: &DerivedKey,
    tenant: TenantId,
    name: &SecretName,
    value: &SecretValue,
    nonce: [u8; NONCE_BYTES],
) -> Result<Vec<u8>, SecretError> {
    let bound = bound_to(tenant, name);
    let payload = Payload { msg: value.expose().as_bytes(), aad: &bound };
    let ciphertext = Aes256Gcm::new(key.as_bytes().into())
        .encrypt(&Nonce::from(nonce), payload)
        .map_err(|_| SecretError::Cipher)?;
    Ok([nonce.as_slice(), &ciphertext].concat())
}

/// Opens what [`seal`] has sealed for this tenant and name.
pub fn open(
    key: &DerivedKey,
    tenant: TenantId,
    name: &SecretName,
    sealed: &[u8],
) -> Result<SecretValue, SecretError> {
    let (nonce, ciphertext) =
        sealed.split_first_chunk::<NONCE_BYTES>().ok_or(SecretError::Sealed)?;
    let bound = bound_to(tenant, name);
    let payload = Payload { msg: ciphertext, aad: &bound };
    let value = Aes256Gcm::new(key.as_bytes().into())
        .decrypt(&Nonce::from(*nonce), payload)
        .map_err(|_| SecretError::Sealed)?;
    SecretValue::new(value).map_err(|_| SecretError::Sealed)
}

/// What a value is bound to. The tenant has a fixed length, so nothing can be read in two ways.
fn bound_to(tenant: TenantId, name: &SecretName) -> Vec<u8> {
    [tenant.as_uuid().as_bytes(), name.as_str().as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{InstallationKey, KEY_BYTES, Purpose};

    fn key(byte: u8) -> DerivedKey {
        InstallationKey::from_bytes([byte; KEY_BYTES]).derive(Purpose::Secrets)
    }

    fn name(text: &str) -> SecretName {
        SecretName::new(text).unwrap()
    }

    #[test]
    fn a_secret_opens_where_it_was_sealed_and_nowhere_else() {
        // Given a sealed secret
        let value = SecretValue::new(b"hunter2".to_vec()).unwrap();
        let (ours, theirs) = (TenantId::DEFAULT, TenantId::from_uuid(uuid::Uuid::from_u128(2)));
        let sealed = seal(&key(1), ours, &name("API_KEY"), &value, [9; NONCE_BYTES]).unwrap();
        assert!(!sealed.windows(7).any(|window| window == b"hunter2"));
        // then it opens for its tenant, under its name and with its key,
        assert_eq!(open(&key(1), ours, &name("API_KEY"), &sealed), Ok(value));
        // not with another one of them,
        let refused = Err(SecretError::Sealed);
        assert_eq!(open(&key(2), ours, &name("API_KEY"), &sealed), refused);
        assert_eq!(open(&key(1), theirs, &name("API_KEY"), &sealed), refused);
        assert_eq!(open(&key(1), ours, &name("OTHER"), &sealed), refused);
        // and not when a bit of it was changed, or when it was cut short.
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(open(&key(1), ours, &name("API_KEY"), &changed), refused);
            assert_eq!(open(&key(1), ours, &name("API_KEY"), &sealed[..at]), refused);
        }
    }

    #[test]
    fn values_are_bounded_and_shown_to_nobody() {
        assert_eq!(SecretValue::new(Vec::new()), Err(SecretError::Empty));
        let bytes = MAX_SECRET + 1;
        assert_eq!(SecretValue::new(vec![0; bytes]), Err(SecretError::TooLarge { bytes }));
        assert_eq!(SecretValue::new(vec![0xff]), Err(SecretError::NotText));
        let value = SecretValue::new(b"hunter2".to_vec()).unwrap();
        assert_eq!(format!("{value:?}"), "SecretValue(..)");
    }

    #[test]
    fn names_are_those_of_variables() {
        for good in ["API_KEY", "a", "Token2"] {
            assert_eq!(SecretName::new(good).unwrap().as_str(), good);
        }
        let long = "A".repeat(MAX_SECRET_NAME + 1);
        for bad in ["", "2FA", "_X", "A-B", "A B", "É", long.as_str()] {
            assert!(SecretName::new(bad).is_err(), "{bad}");
        }
        // A value that was given in the name's place is not shown whole.
        let error = SecretName::new("hunter2 hunter2").unwrap_err().to_string();
        assert!(!error.contains("hunter2 h"), "{error}");
    }
}
