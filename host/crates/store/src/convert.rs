//! Between the types of the domain and what Postgres can hold.
//!
//! Numbers are clamped and NUL characters replaced rather than refused: what is written here was
//! checked at the edge, and a value that slips through must not wedge the batch it is in.

use crate::error::{Cause, StoreError};
use cofferdam_core::outcome::Usage;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sqlx::types::Json;
use std::str::FromStr;
use std::time::Duration;

/// The longest duration that is written, in milliseconds: a hundred years. Bounds the arithmetic
/// with timestamps in the statements.
const MAX_MILLIS: i64 = 100 * 365 * 24 * 3600 * 1000;

pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(MAX_MILLIS).min(MAX_MILLIS)
}

/// Rounded up to a millisecond: zero would be refused, or mean none.
pub(crate) fn millis_at_least_one(duration: Duration) -> i64 {
    millis(duration).max(1)
}

pub(crate) fn duration(millis: i64) -> Duration {
    Duration::from_millis(unsigned(millis))
}

pub(crate) fn bigint(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn length(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

pub(crate) fn integer(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

pub(crate) fn count(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

/// Reads a text column.
pub(crate) fn parse<T>(what: &'static str, text: &str) -> Result<T, StoreError>
where
    T: FromStr,
    T::Err: Into<Cause>,
{
    text.parse().map_err(|error: T::Err| StoreError::Unreadable { what, source: error.into() })
}

/// Reads a column that fits a smaller type or a checked one.
pub(crate) fn convert<T, U>(what: &'static str, value: U) -> Result<T, StoreError>
where
    T: TryFrom<U>,
    T::Error: Into<Cause>,
{
    T::try_from(value).map_err(|error| StoreError::Unreadable { what, source: error.into() })
}

/// Reads a jsonb column.
pub(crate) fn from_json<T: DeserializeOwned>(
    what: &'static str,
    Json(value): Json<Value>,
) -> Result<T, StoreError> {
    serde_json::from_value(value)
        .map_err(|error| StoreError::Unreadable { what, source: error.into() })
}

/// Makes the value of a jsonb column.
pub(crate) fn to_json<T: Serialize>(
    what: &'static str,
    value: &T,
) -> Result<Json<Value>, StoreError> {
    let value =
        serde_json::to_value(value).map_err(|source| StoreError::Unstorable { what, source })?;
    Ok(Json(without_nul(value)))
}

/// jsonb refuses the NUL character, which guests may well write. It becomes U+FFFD.
fn without_nul(value: Value) -> Value {
    let clean = |text: String| {
        if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }
    };
    match value {
        Value::String(text) => Value::String(clean(text)),
        Value::Array(items) => Value::Array(items.into_iter().map(without_nul).collect()),
        Value::Object(fields) => Value::Object(
            fields.into_iter().map(|(key, value)| (clean(key), without_nul(value))).collect(),
        ),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
    }
}

/// Usage as one array a column, in the order of the columns.
#[derive(Default)]
pub(crate) struct UsageArrays {
    pub(crate) fuel: Vec<i64>,
    pub(crate) cpu_micros: Vec<i64>,
    pub(crate) wall_micros: Vec<i64>,
    pub(crate) peak_memory_bytes: Vec<i64>,
    pub(crate) log_bytes: Vec<i64>,
    pub(crate) output_bytes: Vec<i64>,
}

impl UsageArrays {
    pub(crate) fn push(&mut self, usage: &Usage) {
        self.fuel.push(bigint(usage.fuel));
        self.cpu_micros.push(bigint(usage.cpu_micros));
        self.wall_micros.push(bigint(usage.wall_micros));
        self.peak_memory_bytes.push(bigint(usage.peak_memory_bytes));
        self.log_bytes.push(bigint(usage.log_bytes));
        self.output_bytes.push(bigint(usage.output_bytes));
    }
}

/// The usage columns of a row; all of them are NULL where nothing ran.
#[derive(sqlx::FromRow)]
pub(crate) struct UsageRow {
    fuel: Option<i64>,
    cpu_micros: Option<i64>,
    wall_micros: Option<i64>,
    peak_memory_bytes: Option<i64>,
    log_bytes: Option<i64>,
    output_bytes: Option<i64>,
}

impl UsageRow {
    pub(crate) fn usage(&self) -> Option<Usage> {
        Some(Usage {
            fuel: unsigned(self.fuel?),
            cpu_micros: unsigned(self.cpu_micros?),
            wall_micros: unsigned(self.wall_micros?),
            peak_memory_bytes: unsigned(self.peak_memory_bytes?),
            log_bytes: unsigned(self.log_bytes?),
            output_bytes: unsigned(self.output_bytes?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nul_characters_never_reach_a_jsonb_column() {
        let Json(clean) = to_json("test", &json!({"a\0": ["b\0c", {"d": "\0"}], "e": 1})).unwrap();
        assert_eq!(clean, json!({"a\u{fffd}": ["b\u{fffd}c", {"d": "\u{fffd}"}], "e": 1}));
    }

    #[test]
    fn numbers_are_clamped_to_what_a_column_holds() {
        assert_eq!(bigint(u64::MAX), i64::MAX);
        assert_eq!(integer(u32::MAX), i32::MAX);
        assert_eq!(unsigned(-1), 0);
        assert_eq!(millis(Duration::MAX), MAX_MILLIS);
        assert_eq!(millis_at_least_one(Duration::ZERO), 1);
    }
}
