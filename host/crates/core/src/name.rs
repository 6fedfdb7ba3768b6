//! Names that people choose: checked once, at the edge, and then a type.

use crate::hint::Hint;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The longest name, in bytes. Names are in indexes, URLs and log lines.
pub const MAX_NAME: usize = 64;

/// A text that may not be a name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not a valid {what} name: {problem}")]
pub struct NameError {
    what: &'static str,
    text: String,
    problem: String,
}

impl Hint for NameError {
    fn hint(&self) -> Option<String> {
        Some(format!(
            "use 1 to {MAX_NAME} lower-case letters, digits, `-`, `_` and `.`, starting with a letter"
        ))
    }
}

fn check(what: &'static str, text: &str) -> Result<(), NameError> {
    let problem = if text.is_empty() {
        "it is empty".to_owned()
    } else if text.len() > MAX_NAME {
        format!("it is longer than {MAX_NAME} bytes")
    } else if !text.starts_with(|c: char| c.is_ascii_lowercase()) {
        "it does not start with a lower-case letter".to_owned()
    } else if let Some(bad) = text
        .chars()
        .find(|c| !(c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.')))
    {
        format!("it contains {bad:?}")
    } else {
        return Ok(());
    };
    // The text may be a whole file given by mistake: only its start is repeated.
    let text = text.chars().take(MAX_NAME).collect();
    Err(NameError { what, text, problem })
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks a text.
            pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
                let text = text.into();
                check($what, &text)?;
                Ok(Self(text))
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

name!(
    /// The name of a module.
    ModuleName,
    "module"
);
name!(
    /// The name of a kind: a handler that a module offers.
    KindName,
    "kind"
);
name!(
    /// The name of a queue.
    QueueName,
    "queue"
);
name!(
    /// The name of a tenant.
    TenantName,
    "tenant"
);

impl QueueName {
    /// The queue of jobs that name none.
    pub fn default_queue() -> Self {
        Self("default".to_owned())
    }
}

impl KindName {
    /// The kind of a command job: a component that exports `wasi:cli/run` has just this one.
    pub fn command() -> Self {
        Self("run".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_plain_words() {
        for good in ["a", "images", "csv-report", "v1.resize_all"] {
            assert!(ModuleName::new(good).is_ok(), "{good}");
        }
        let long = "a".repeat(MAX_NAME + 1);
        for bad in ["", "A", "1a", "-a", "a b", "a/b", "a@1", "a\0", "é", &long] {
            assert!(ModuleName::new(bad).is_err(), "{bad:?}");
        }
    }
}
