//! Durations and sizes as people write them: `250ms`, `1h30m`, `64KiB`.
//!
//! Anything else is refused, never cut short.

use std::time::Duration;
use thiserror::Error;

use crate::hint::Hint;

/// Longer texts are refused unread.
const MAX_TEXT: usize = 64;

/// A text that is no duration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not a duration")]
pub struct DurationError {
    text: String,
}

impl Hint for DurationError {
    fn hint(&self) -> Option<String> {
        Some("write it like 250ms, 10s, 5m, 1h30m or 2d".to_owned())
    }
}

/// A text that is no size.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not a size")]
pub struct SizeError {
    text: String,
}

impl Hint for SizeError {
    fn hint(&self) -> Option<String> {
        Some("write it like 512B, 64KiB, 16MiB or 1GiB".to_owned())
    }
}

/// The units of durations in milliseconds, largest first: they must come in this order, each once.
const DURATION_UNITS: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Reads `250ms`, `10s`, `5m`, `1h30m`, `2d`. Whole numbers only, larger units first, each once.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let refuse = || DurationError { text: text.chars().take(MAX_TEXT).collect() };
    if text.is_empty() || text.len() > MAX_TEXT {
        return Err(refuse());
    }
    let mut rest = text;
    let mut millis: u64 = 0;
    let mut units = DURATION_UNITS.iter();
    while !rest.is_empty() {
        let (number, after) = split_while(rest, |c| c.is_ascii_digit());
        let (unit, after) = split_while(after, |c| c.is_ascii_alphabetic());
        let number: u64 = number.parse().map_err(|_| refuse())?;
        let (_, factor) = units.find(|(name, _)| *name == unit).ok_or_else(refuse)?;
        millis = number
            .checked_mul(*factor)
            .and_then(|part| millis.checked_add(part))
            .ok_or_else(refuse)?;
        rest = after;
    }
    Ok(Duration::from_millis(millis))
}

/// Writes a duration so that [`parse_duration`] reads it back, to the millisecond.
pub fn format_duration(duration: Duration) -> String {
    let mut millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if millis == 0 {
        return "0s".to_owned();
    }
    let parts = DURATION_UNITS.into_iter().map(|(unit, factor)| {
        let count = millis / factor;
        millis %= factor;
        if count > 0 { format!("{count}{unit}") } else { String::new() }
    });
    parts.collect()
}

/// The units of sizes in bytes. Only binary ones: `MB` means two things to two readers.
const SIZE_UNITS: [(&str, u64); 4] =
    [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// Reads `512B`, `64KiB`, `16MiB`, `1GiB`. Whole numbers only.
pub fn parse_size(text: &str) -> Result<u64, SizeError> {
    let refuse = || SizeError { text: text.chars().take(MAX_TEXT).collect() };
    if text.len() > MAX_TEXT {
        return Err(refuse());
    }
    let (number, unit) = split_while(text, |c| c.is_ascii_digit());
    let number: u64 = number.parse().map_err(|_| refuse())?;
    let (_, factor) = SIZE_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(refuse)?;
    number.checked_mul(*factor).ok_or_else(refuse)
}

/// Writes a size in the largest unit that divides it, so that [`parse_size`] reads it back.
pub fn format_size(bytes: u64) -> String {
    for (unit, factor) in SIZE_UNITS {
        if bytes >= factor && bytes.is_multiple_of(factor) {
            return format!("{}{unit}", bytes / factor);
        }
    }
    format!("{bytes}B")
}

fn split_while(text: &str, keep: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !keep(c)).unwrap_or(text.len()))
}

/// `#[serde(with = "units::duration")]`: durations as text.
pub mod duration {
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};
    use std::time::Duration;

    /// Writes the text form.
    pub fn serialize<S: Serializer>(value: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&super::format_duration(*value))
    }

    /// Reads the text form.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(from)?;
        super::parse_duration(&text).map_err(D::Error::custom)
    }
}

/// `#[serde(with = "units::optional_duration")]`: durations as text, where there is one.
pub mod optional_duration {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
    use std::time::Duration;

    /// Writes the text form.
    pub fn serialize<S: Serializer>(value: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        value.map(super::format_duration).serialize(to)
    }

    /// Reads the text form.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Option::<String>::deserialize(from)?
            .map(|text| super::parse_duration(&text).map_err(D::Error::custom))
            .transpose()
    }
}

/// `#[serde(with = "units::optional_size")]`: sizes as text, where there is one.
pub mod optional_size {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

    /// Writes the text form.
    pub fn serialize<S: Serializer>(value: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
        value.map(super::format_size).serialize(to)
    }

    /// Reads the text form.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
        Option::<String>::deserialize(from)?
            .map(|text| super::parse_size(&text).map_err(D::Error::custom))
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_as_people_write_them() {
        for (text, millis) in
            [("250ms", 250), ("10s", 10_000), ("5m", 300_000), ("1h30m", 5_400_000), ("0s", 0)]
        {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn other_durations_are_refused() {
        for text in ["", "10", "s", "1.5s", "-1s", "10S", "30m1h", "1s1s", "10 s", "1y", "9e9s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        assert!(parse_duration("99999999999999999999d").is_err());
        assert!(parse_duration("18446744073709551615d").is_err());
    }

    #[test]
    fn sizes_as_people_write_them() {
        for (text, bytes) in
            [("512B", 512), ("64KiB", 65_536), ("16MiB", 1 << 24), ("1GiB", 1 << 30)]
        {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "64", "64kb", "64MB", "1.5GiB", "KiB", "64 MiB", "99999999999999GiB"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn durations_come_back(millis in 0_u64..10_000_000_000_000) {
            let duration = Duration::from_millis(millis);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }

        #[test]
        fn sizes_come_back(bytes: u64) {
            prop_assert_eq!(parse_size(&format_size(bytes)), Ok(bytes));
        }

        #[test]
        fn no_text_panics(text in ".{0,80}") {
            let _ = parse_duration(&text);
            let _ = parse_size(&text);
        }
    }
}
