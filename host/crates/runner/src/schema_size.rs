//! How much work a schema is for each value that it is checked against.
//!
//! References let a small schema stand for a huge one: ten definitions that each refer twice to
//! the next are a thousand checks, and one that refers to itself has no end. Schemas come from
//! tenants and are run by the platform, so references must not go round in circles, and what they
//! expand to is bounded.

use serde_json::Value;
use std::collections::HashMap;
use thiserror::Error;

/// The most nodes that a schema may have with every reference written out.
const MAX_NODES: u64 = 10_000;

/// Keywords whose values are data and not schemas.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];

/// Keywords that refer to something by other means than a path.
const OTHER_REFERENCES: [&str; 2] = ["$dynamicRef", "$recursiveRef"];

/// A schema that is refused for its size.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum SizeError {
    #[error("with its references written out it has more than {MAX_NODES} parts")]
    TooLarge,
    #[error("the reference `{0}` leads back to itself, and recursive schemas are not supported")]
    Recursive(String),
    #[error("the reference `{0}` is not a path within the schema, such as `#/$defs/name`")]
    NotAPath(String),
    #[error("`{0}` is not supported")]
    Unsupported(&'static str),
}

/// Checks the expanded size of a schema, in time proportional to its written size.
pub(crate) fn check(schema: &Value) -> Result<(), SizeError> {
    let mut walk = Walk { root: schema, known: HashMap::new(), open: Vec::new() };
    if walk.size(schema)? > MAX_NODES {
        return Err(SizeError::TooLarge);
    }
    Ok(())
}

struct Walk<'a> {
    root: &'a Value,
    /// The expanded sizes of references that were followed to their end.
    known: HashMap<&'a str, u64>,
    /// The references that are being followed.
    open: Vec<&'a str>,
}

impl<'a> Walk<'a> {
    fn size(&mut self, node: &'a Value) -> Result<u64, SizeError> {
        let mut size = 1_u64;
        match node {
            Value::Object(members) => {
                for (keyword, value) in members {
                    if let Some(name) = OTHER_REFERENCES.iter().find(|name| *name == keyword) {
                        return Err(SizeError::Unsupported(name));
                    }
                    size = size.saturating_add(match (keyword.as_str(), value) {
                        ("$ref", Value::String(path)) => self.reference(path)?,
                        (keyword, _) if DATA.contains(&keyword) => 1,
                        _ => self.size(value)?,
                    });
                }
            }
            Value::Array(elements) => {
                for element in elements {
                    size = size.saturating_add(self.size(element)?);
                }
            }
            _ => {}
        }
        Ok(size)
    }

    fn reference(&mut self, path: &'a str) -> Result<u64, SizeError> {
        if let Some(size) = self.known.get(path) {
            return Ok(*size);
        }
        if self.open.contains(&path) {
            return Err(SizeError::Recursive(path.to_owned()));
        }
        let not_a_path = || SizeError::NotAPath(path.to_owned());
        let pointer = path.strip_prefix('#').ok_or_else(not_a_path)?;
        let target = self.root.pointer(pointer).ok_or_else(not_a_path)?;
        self.open.push(path);
        let size = self.size(target)?;
        self.open.pop();
        self.known.insert(path, size);
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ordinary_schemas_with_definitions_pass() {
        let schema = json!({
            "$defs": {"size": {"type": "integer", "minimum": 1}},
            "properties": {"width": {"$ref": "#/$defs/size"}, "height": {"$ref": "#/$defs/size"}},
        });
        assert_eq!(check(&schema), Ok(()));
    }

    #[test]
    fn references_that_multiply_are_counted() {
        // Given forty definitions, each of which refers twice to the next,
        let mut definitions = serde_json::Map::new();
        for number in 0..40 {
            let next = json!({"$ref": format!("#/$defs/a{}", number + 1)});
            definitions.insert(format!("a{number}"), json!({"allOf": [next, next]}));
        }
        definitions.insert("a40".to_owned(), json!({"type": "object"}));
        let schema = json!({"$defs": definitions, "$ref": "#/$defs/a0"});

        // then the schema is refused, and counting it took no time.
        assert_eq!(check(&schema), Err(SizeError::TooLarge));
    }

    #[test]
    fn circles_are_refused() {
        let direct = json!({"$ref": "#"});
        assert!(matches!(check(&direct), Err(SizeError::Recursive(_))));
        let tree = json!({
            "$defs": {"node": {"properties": {"child": {"$ref": "#/$defs/node"}}}},
            "$ref": "#/$defs/node",
        });
        assert!(matches!(check(&tree), Err(SizeError::Recursive(_))));
        let dynamic = json!({"$dynamicRef": "#meta"});
        assert_eq!(check(&dynamic), Err(SizeError::Unsupported("$dynamicRef")));
    }

    #[test]
    fn data_is_not_followed() {
        let schema = json!({"const": {"$ref": "#"}, "enum": [{"$ref": "nowhere"}]});
        assert_eq!(check(&schema), Ok(()));
    }
}
