//! When a failed job runs again.

use crate::units::{self, DurationError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::time::Duration;

/// The first delay of the default backoff.
pub const DEFAULT_BASE: Duration = Duration::from_secs(1);
/// The longest delay of the default backoff.
pub const DEFAULT_CAP: Duration = Duration::from_mins(10);
/// The longest delay that anyone may ask for, by backoff, by `retry_after` or by snooze. Bounds
/// the arithmetic, and what a handler can do to the promotion index.
pub const MAX_DELAY: Duration = Duration::from_hours(30 * 24);

/// How the delay before the next attempt grows.
///
/// In manifests and JSON: `"none"`, `{ constant = "5s" }` or `{ exponential = "1s", cap = "10m" }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backoff {
    /// At once.
    None,
    /// The same delay each time.
    Constant(Duration),
    /// `base`, doubled for each failed attempt, at most `cap`, with full jitter: the delay is
    /// uniform in `0..=min(cap, base * 2^(attempt - 1))`. Source of the formula: M. Brooker,
    /// "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
    Exponential {
        /// The ceiling of the first delay.
        base: Duration,
        /// The ceiling of every delay.
        cap: Duration,
    },
}

impl Default for Backoff {
    fn default() -> Self {
        Self::Exponential { base: DEFAULT_BASE, cap: DEFAULT_CAP }
    }
}

impl Backoff {
    /// The delay before the attempt that follows failed attempt number `attempt` (from 1).
    ///
    /// `jitter` is uniform in `0.0..1.0`; the caller owns the randomness. Never longer than
    /// [`MAX_DELAY`].
    pub fn delay(self, attempt: u32, jitter: f64) -> Duration {
        let delay = match self {
            Self::None => Duration::ZERO,
            Self::Constant(delay) => delay,
            Self::Exponential { base, cap } => {
                let doublings = attempt.saturating_sub(1).min(40);
                let ceiling = base.saturating_mul(2_u32.saturating_pow(doublings)).min(cap);
                ceiling.mul_f64(jitter.clamp(0.0, 1.0))
            }
        };
        delay.min(MAX_DELAY)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Text {
    Word(String),
    Constant {
        constant: String,
    },
    Exponential {
        exponential: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        cap: Option<String>,
    },
}

impl Serialize for Backoff {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::None => Text::Word("none".to_owned()),
            Self::Constant(delay) => Text::Constant { constant: units::format_duration(delay) },
            Self::Exponential { base, cap } => Text::Exponential {
                exponential: units::format_duration(base),
                cap: Some(units::format_duration(cap)),
            },
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Backoff {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let parse = |text: &str| -> Result<Duration, DurationError> { units::parse_duration(text) };
        match Text::deserialize(deserializer)? {
            Text::Word(word) if word == "none" => Ok(Self::None),
            Text::Word(word) => Err(D::Error::custom(format!(
                "`{word}` is not a backoff: use \"none\", {{ constant = \"5s\" }} or \
                 {{ exponential = \"1s\", cap = \"10m\" }}"
            ))),
            Text::Constant { constant } => {
                parse(&constant).map(Self::Constant).map_err(D::Error::custom)
            }
            Text::Exponential { exponential, cap } => Ok(Self::Exponential {
                base: parse(&exponential).map_err(D::Error::custom)?,
                cap: match cap {
                    Some(cap) => parse(&cap).map_err(D::Error::custom)?,
                    None => DEFAULT_CAP,
                },
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ceilings_double_up_to_the_cap() {
        let backoff = Backoff::default();
        let ceilings: Vec<_> = (1..=12).map(|attempt| backoff.delay(attempt, 1.0)).collect();
        assert_eq!(ceilings[0], Duration::from_secs(1));
        assert_eq!(ceilings[3], Duration::from_secs(8));
        assert_eq!(ceilings[11], DEFAULT_CAP);
    }

    #[test]
    fn text_forms_come_back() {
        for text in [r#""none""#, r#"{"constant":"5s"}"#, r#"{"exponential":"1s","cap":"10m"}"#] {
            let backoff: Backoff = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&backoff).unwrap(), text);
        }
    }

    proptest! {
        #[test]
        fn no_delay_is_longer_than_the_cap(attempt: u32, base in 0_u64..u64::MAX, jitter: f64) {
            let cap = Duration::from_mins(1);
            let backoff = Backoff::Exponential { base: Duration::from_millis(base), cap };
            prop_assert!(backoff.delay(attempt, jitter) <= cap);
        }
    }
}
