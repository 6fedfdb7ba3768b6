//! Modules, their versions, and how people refer to them.

use crate::hint::Hint;
use crate::name::{KindName, ModuleName, NameError};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use thiserror::Error;

/// The SHA-256 digest of an uploaded component, in hexadecimal in text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest as the database keeps it.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first twelve hexadecimal digits, for people.
    pub fn short(&self) -> String {
        self.to_string().chars().take(12).collect()
    }
}

/// Bytes or a text that are no SHA-256 digest.
#[derive(Debug, Error)]
#[error("not a SHA-256 digest")]
pub struct DigestError;

impl TryFrom<&[u8]> for Digest {
    type Error = DigestError;
    fn try_from(bytes: &[u8]) -> Result<Self, DigestError> {
        bytes.try_into().map(Self).map_err(|_| DigestError)
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;
    fn try_from(text: String) -> Result<Self, DigestError> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| DigestError)?;
        Ok(Self(bytes))
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The longest version text, in bytes.
pub const MAX_VERSION: usize = 64;

/// The name of a version: `1`, `1.4.0`, `2026-11-30`. Chosen by the publisher, or counted up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VersionName(String);

impl VersionName {
    /// Checks a text.
    pub fn new(text: impl Into<String>) -> Result<Self, RefError> {
        let text = text.into();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_');
        if text.is_empty() || text.len() > MAX_VERSION || !text.chars().all(plain) {
            return Err(RefError::Version(text.chars().take(MAX_VERSION).collect()));
        }
        Ok(Self(text))
    }

    /// The version as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for VersionName {
    type Error = RefError;
    fn try_from(text: String) -> Result<Self, RefError> {
        Self::new(text)
    }
}

impl From<VersionName> for String {
    fn from(version: VersionName) -> Self {
        version.0
    }
}

impl fmt::Display for VersionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A text that refers to no module.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RefError {
    /// A part is no name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The part after `@` is no version.
    #[error("`{0}` is not a valid version")]
    Version(String),
}

impl Hint for RefError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Name(error) => error.hint(),
            Self::Version(_) => Some(format!(
                "use 1 to {MAX_VERSION} letters, digits, `.`, `-`, `+` and `_`, as in images@1.4.0"
            )),
        }
    }
}

/// `NAME[@VERSION][/KIND]`: what to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModuleRef {
    /// The module.
    pub name: ModuleName,
    /// A fixed version, or whatever is current when the job starts.
    pub version: Option<VersionName>,
    /// Which of its kinds; may be left out when it has just one.
    pub kind: Option<KindName>,
}

impl FromStr for ModuleRef {
    type Err = RefError;
    fn from_str(text: &str) -> Result<Self, RefError> {
        let (rest, kind) = match text.split_once('/') {
            Some((rest, kind)) => (rest, Some(KindName::new(kind)?)),
            None => (text, None),
        };
        let (name, version) = match rest.split_once('@') {
            Some((name, version)) => (name, Some(VersionName::new(version)?)),
            None => (rest, None),
        };
        Ok(Self { name: ModuleName::new(name)?, version, kind })
    }
}

impl TryFrom<String> for ModuleRef {
    type Error = RefError;
    fn try_from(text: String) -> Result<Self, RefError> {
        text.parse()
    }
}

impl From<ModuleRef> for String {
    fn from(module: ModuleRef) -> Self {
        module.to_string()
    }
}

impl fmt::Display for ModuleRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        if let Some(version) = &self.version {
            write!(f, "@{version}")?;
        }
        if let Some(kind) = &self.kind {
            write!(f, "/{kind}")?;
        }
        Ok(())
    }
}

/// The two shapes of component that can be a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum World {
    /// Exports `cofferdam:job/handler`.
    Handler,
    /// Exports `wasi:cli/run`: any WASI program.
    Command,
}

impl World {
    /// The name in the API and the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Handler => "handler",
            Self::Command => "command",
        }
    }
}

impl FromStr for World {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "handler" => Ok(Self::Handler),
            "command" => Ok(Self::Command),
            other => Err(format!("`{other}` is not a world")),
        }
    }
}

/// What a component says of one of its kinds, as `describe` returned it and the host checked it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KindInfo {
    /// The kind's name.
    pub name: KindName,
    /// A sentence for people.
    pub description: String,
    /// A JSON Schema that payloads must match.
    pub input_schema: Option<serde_json::Value>,
    /// The kind's own default deadline.
    #[serde(with = "crate::units::optional_duration", default)]
    pub deadline: Option<Duration>,
    /// The kind's own default for linear memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// The kind's own default fuel budget.
    pub fuel: Option<u64>,
    /// The kind's own default for `max_attempts`.
    pub max_attempts: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_come_back() {
        for text in ["images", "images@1.4.0", "images/thumbnail", "images@2/thumbnail"] {
            assert_eq!(text.parse::<ModuleRef>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_references_are_refused() {
        for text in ["", "@1", "images@", "images/", "a@b@c", "a/b/c", "a b"] {
            assert!(text.parse::<ModuleRef>().is_err(), "{text}");
        }
    }

    #[test]
    fn digests_come_back() {
        let digest = Digest::of(b"cofferdam");
        assert_eq!(Digest::try_from(String::from(digest)).unwrap(), digest);
        assert!(Digest::try_from("abc".to_owned()).is_err());
    }
}
