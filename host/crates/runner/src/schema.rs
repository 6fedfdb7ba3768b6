//! Payloads against the JSON Schema that their kind declares.

use crate::schema_size::{self, SizeError};
use cofferdam_core::hint::Hint;
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use thiserror::Error;

/// The most memory, in bytes, that one `pattern` of a schema may compile to. Schemas come from
/// tenants: stops a pattern from filling the server.
const PATTERN_SIZE: usize = 1 << 20;

/// A payload that is not what its kind takes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PayloadError {
    /// The kind has a schema, so the payload must be JSON.
    #[error("the payload is not JSON: {0}")]
    NotJson(String),
    /// JSON of another shape.
    #[error("the payload does not match the schema at `{path}`: {problem}")]
    Mismatch {
        /// A JSON pointer into the payload; empty for the whole of it.
        path: String,
        /// What is wrong there.
        problem: String,
    },
    /// The schema itself cannot be used.
    #[error("the schema cannot be used: {0}")]
    Schema(String),
}

impl Hint for PayloadError {
    fn hint(&self) -> Option<String> {
        Some("`cofferdam module show NAME` prints the schema of each kind".to_owned())
    }
}

/// Checks a payload against a schema, as a server does it before it accepts a job.
///
/// Takes time in proportion to the payload and to the schema: call it on a thread that may block.
pub fn check_payload(schema: &Value, payload: &[u8]) -> Result<(), PayloadError> {
    Schema::compile(schema).map_err(PayloadError::Schema)?.check(payload)
}

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Schema(Validator);

impl Schema {
    /// Compiles a schema. The error is a sentence about what is wrong with it.
    ///
    /// Patterns run on an engine that takes linear time, references reach nothing outside of the
    /// schema itself, and what they multiply is bounded.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        schema_size::check(schema).map_err(|error: SizeError| error.to_string())?;
        jsonschema::options()
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_SIZE))
            .build(schema)
            .map(Self)
            .map_err(|error| error.to_string())
    }

    /// Checks a payload.
    pub(crate) fn check(&self, payload: &[u8]) -> Result<(), PayloadError> {
        let value: Value = serde_json::from_slice(payload)
            .map_err(|error| PayloadError::NotJson(error.to_string()))?;
        self.0.validate(&value).map_err(|error| PayloadError::Mismatch {
            path: error.instance_path().to_string(),
            problem: error.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_error_says_where() {
        let schema = Schema::compile(&json!({
            "type": "object",
            "properties": {"width": {"type": "integer", "minimum": 1}},
        }))
        .unwrap();
        assert_eq!(schema.check(br#"{"width": 3}"#), Ok(()));
        let Err(PayloadError::Mismatch { path, .. }) = schema.check(br#"{"width": 0}"#) else {
            panic!("a width of 0 was accepted");
        };
        assert_eq!(path, "/width");
        assert!(matches!(schema.check(b"{"), Err(PayloadError::NotJson(_))));
    }

    #[test]
    fn schemas_reach_nothing_outside() {
        let outside = json!({"$ref": "http://169.254.169.254/latest/meta-data"});
        assert!(Schema::compile(&outside).is_err());
        let file = json!({"$ref": "file:///etc/passwd"});
        assert!(Schema::compile(&file).is_err());
    }

    #[test]
    fn a_hostile_pattern_ends() {
        let schema = Schema::compile(&json!({"type": "string", "pattern": "^(a+)+$"})).unwrap();
        let payload = format!("\"{}!\"", "a".repeat(50_000));
        assert!(schema.check(payload.as_bytes()).is_err());
        let huge = json!({"pattern": "(?:(?:(?:a{100}){100}){100}){100}"});
        assert!(Schema::compile(&huge).is_err());
    }
}
