//! The installation's key: one secret from which every other one is derived.
//!
//! Nothing is ever sealed or signed with the key itself, only with keys that are derived from it
//! for one purpose each: what one of them gives away says nothing of another. The derivation is
//! HMAC-SHA-256 (RFC 2104, FIPS 198-1) of the purpose's label under the installation's key, which
//! is the one-block case of the counter mode of NIST SP 800-108.

use crate::hint::Hint;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The length of every key here, in bytes.
pub const KEY_BYTES: usize = 32;

type HmacSha256 = Hmac<Sha256>;

/// A text that is no key. It is not repeated: it may be one with a letter too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the installation's key is not {KEY_BYTES} bytes in hexadecimal digits")]
pub struct KeyError;

impl Hint for KeyError {
    fn hint(&self) -> Option<String> {
        Some(format!("make one with `openssl rand -hex {KEY_BYTES}`, and keep a copy of it"))
    }
}

/// What a derived key is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Signing compiled components.
    Artefacts,
    /// Sealing the secrets of tenants.
    Secrets,
}

impl Purpose {
    /// What is told apart by it. Never changes: everything that was made with a key would be lost.
    fn label(self) -> &'static [u8] {
        match self {
            Self::Artefacts => b"cofferdam/artefacts/1",
            Self::Secrets => b"cofferdam/secrets/1",
        }
    }
}

/// The secret of one installation: every server and worker of it has the same. Never shown.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct InstallationKey([u8; KEY_BYTES]);

/// A key for one purpose. Never shown.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct DerivedKey([u8; KEY_BYTES]);

impl InstallationKey {
    /// From bytes, which must come from a generator that is good enough for keys.
    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// As text, for the one file in which it is kept.
    pub fn to_hex(&self) -> String {
        hex::encode(self.0)
    }

    /// The key for a purpose: the same on every machine.
    pub fn derive(&self, purpose: Purpose) -> DerivedKey {
        DerivedKey(mac(&self.0, &[purpose.label()]))
    }
}

impl FromStr for InstallationKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let mut bytes = [0; KEY_BYTES];
        hex::decode_to_slice(text.trim(), &mut bytes).map_err(|_| KeyError)?;
        Ok(Self(bytes))
    }
}

impl DerivedKey {
    /// The key as it is, for the cipher that it is meant for.
    pub fn as_bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// The authentication code of some parts one after the other. Their lengths are not in it:
    /// all but one must have a length that does not change.
    pub fn sign(&self, parts: &[&[u8]]) -> [u8; KEY_BYTES] {
        mac(&self.0, parts)
    }

    /// Whether `code` is the code of these parts, in a time that does not depend on where it
    /// differs.
    pub fn verify(&self, parts: &[&[u8]], code: &[u8]) -> bool {
        updated(&self.0, parts).is_some_and(|mac| mac.verify_slice(code).is_ok())
    }
}

fn updated(key: &[u8; KEY_BYTES], parts: &[&[u8]]) -> Option<HmacSha256> {
    // Keys of any length are taken, so there is always one.
    let mut mac = HmacSha256::new_from_slice(key).ok()?;
    for part in parts {
        mac.update(part);
    }
    Some(mac)
}

fn mac(key: &[u8; KEY_BYTES], parts: &[&[u8]]) -> [u8; KEY_BYTES] {
    updated(key, parts).map_or([0; KEY_BYTES], |mac| mac.finalize().into_bytes().into())
}

impl fmt::Debug for InstallationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InstallationKey(..)")
    }
}

impl fmt::Debug for DerivedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DerivedKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> InstallationKey {
        InstallationKey::from_bytes([7; KEY_BYTES])
    }

    #[test]
    fn a_key_comes_back_from_its_text_and_shows_nothing() {
        let text = key().to_hex();
        assert_eq!(format!(" {text}\n").parse(), Ok(key()));
        for bad in ["", "07", &text[1..], &format!("{text}07"), &"g".repeat(64)] {
            assert_eq!(bad.parse::<InstallationKey>(), Err(KeyError), "{bad}");
        }
        assert_eq!(format!("{:?}", key()), "InstallationKey(..)");
        assert_eq!(format!("{:?}", key().derive(Purpose::Secrets)), "DerivedKey(..)");
    }

    #[test]
    fn codes_are_those_of_rfc_4231() {
        // Test case 2 of RFC 4231, whose key is shorter than ours: padded with zeros it is the
        // same key to HMAC.
        let mut jefe = [0; KEY_BYTES];
        jefe[..4].copy_from_slice(b"Jefe");
        let code = DerivedKey(jefe).sign(&[b"what do ya want ", b"for nothing?"]);
        assert_eq!(
            hex::encode(code),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn keys_for_two_purposes_have_nothing_in_common() {
        let (artefacts, secrets) =
            (key().derive(Purpose::Artefacts), key().derive(Purpose::Secrets));
        assert!(artefacts != secrets);
        let code = artefacts.sign(&[b"artefact"]);
        assert!(artefacts.verify(&[b"arte", b"fact"], &code));
        assert!(!artefacts.verify(&[b"artefact!"], &code));
        assert!(!artefacts.verify(&[b"artefact"], &code[1..]));
        assert!(!secrets.verify(&[b"artefact"], &code));
    }
}
