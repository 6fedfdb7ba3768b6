//! What a job waits for when it was put aside, and the token by which somebody calls back.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use thiserror::Error;

/// The shortest wait. Putting a job aside is counted against nothing, so a shorter one would let a
/// handler spin through the database for ever.
pub const MIN_WAIT: Duration = Duration::from_secs(1);

/// The longest wait: thirty days. What waits for longer keeps its input and its component in the
/// database for nothing.
pub const MAX_WAIT: Duration = Duration::from_hours(30 * 24);

/// The most bytes that a callback may carry. They go through the claim of the job, with its input.
pub const MAX_CALLBACK: u64 = 64 << 10;

/// How every token begins, so that one that got into a log is recognised for what it is.
const PREFIX: &str = "cofcb_";

/// A time for which a job may be put aside, or the bounds that it exceeds, in words.
pub fn wait_time(time: Duration) -> Result<Duration, BadWait> {
    if time < MIN_WAIT || time > MAX_WAIT { Err(BadWait(time)) } else { Ok(time) }
}

/// A wait that is too short or too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a job may be put aside for 1s to 30d, not for {}", crate::units::format_duration(self.0))]
pub struct BadWait(Duration);

/// The right to call back once: 256 random bits in text form.
#[derive(Clone, PartialEq, Eq)]
pub struct CallbackToken(String);

impl CallbackToken {
    /// A token of these bits, which must come from a generator that cannot be predicted.
    pub fn from_bits(bits: [u8; 32]) -> Self {
        Self(format!("{PREFIX}{}", hex::encode(bits)))
    }

    /// The text, for whoever is to call back.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What is kept of it: who reads the database cannot call back.
    pub fn hash(&self) -> CallbackHash {
        CallbackHash(Sha256::digest(&self.0).into())
    }
}

/// Tokens do not get into logs by accident.
impl fmt::Debug for CallbackToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallbackToken(..)")
    }
}

/// A text that cannot be a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("this is not a callback's token: one is `{PREFIX}` and 64 hexadecimal digits")]
pub struct BadToken;

impl FromStr for CallbackToken {
    type Err = BadToken;

    fn from_str(text: &str) -> Result<Self, BadToken> {
        let digits = text.strip_prefix(PREFIX).ok_or(BadToken)?;
        let mut bits = [0; 32];
        hex::decode_to_slice(digits, &mut bits).map_err(|_| BadToken)?;
        Ok(Self::from_bits(bits))
    }
}

/// The SHA-256 of a token's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallbackHash([u8; 32]);

impl CallbackHash {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Why a job that was put aside runs again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resumption {
    /// Somebody called back, with these bytes.
    CalledBack(Vec<u8>),
    /// The time was over.
    TimedOut,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_comes_back_from_its_text_and_nothing_else_does() {
        let token = CallbackToken::from_bits([0xab; 32]);
        let read: CallbackToken = token.as_str().parse().unwrap();
        assert_eq!(read.hash(), token.hash());
        let long = format!("{}0", token.as_str());
        let upper = token.as_str().to_uppercase();
        for text in ["", "cofcb_", "cofcb_12", "\u{0}", &long, &upper, &token.as_str()[1..]] {
            assert_eq!(text.parse::<CallbackToken>(), Err(BadToken), "{text}");
        }
    }

    #[test]
    fn a_token_says_nothing_when_it_is_logged() {
        let token = CallbackToken::from_bits([0xab; 32]);
        assert!(!format!("{token:?}").contains("ab"));
    }

    #[test]
    fn waits_have_bounds() {
        for bad in [Duration::ZERO, Duration::from_millis(999), Duration::MAX] {
            assert_eq!(wait_time(bad), Err(BadWait(bad)));
        }
        for good in [MIN_WAIT, MAX_WAIT] {
            assert_eq!(wait_time(good), Ok(good));
        }
        let message = wait_time(Duration::ZERO).unwrap_err().to_string();
        assert_eq!(message, "a job may be put aside for 1s to 30d, not for 0s");
    }
}
