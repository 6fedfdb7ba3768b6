//! `--input JSON|@FILE|-`: where the bytes of a job's input come from.

use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::value::BadValue;
use cofferdam_core::{limits, units};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

/// Where the input comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// The argument itself, which is JSON.
    Json(String),
    /// The bytes of a file, as they are.
    File(PathBuf),
    /// The bytes of standard input, as they are.
    Stdin,
}

/// Reads the argument. Text that is neither `-`, nor `@FILE`, nor JSON is refused here, because a
/// forgotten `@` would otherwise send a file's name instead of the file.
pub(crate) fn parse(text: &str) -> Result<Input, BadValue> {
    if text == "-" {
        return Ok(Input::Stdin);
    }
    if let Some(path) = text.strip_prefix('@') {
        return Ok(Input::File(PathBuf::from(path)));
    }
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => Ok(Input::Json(text.to_owned())),
        Err(error) => Err(BadValue {
            message: format!("the input is not JSON: {error}"),
            hint: Some(
                "quote it as JSON, such as '{\"width\": 64}' or '\"text\"'; \
                 @FILE sends a file's bytes as they are, - sends standard input"
                    .to_owned(),
            ),
        }),
    }
}

impl Input {
    /// The bytes, at most [`limits::MAX_PAYLOAD`] of them.
    pub(crate) fn read(&self) -> Result<Vec<u8>> {
        match self {
            Self::Json(text) => Ok(text.clone().into_bytes()),
            Self::Stdin => bounded(io::stdin().lock(), "standard input"),
            Self::File(path) => {
                let file = File::open(path)
                    .map_err(|error| CommandError::file(Exit::Failed, "read", path, &error))?;
                let name = format!("`{}`", path.display());
                bounded(file, &name)
            }
        }
    }
}

/// Reads no more than a job may carry: an endless input must not fill the memory.
fn bounded(from: impl io::Read, name: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limits::MAX_PAYLOAD + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| CommandError::failed(format!("cannot read {name}")).caused_by(&error))?;
    if bytes.len() as u64 > limits::MAX_PAYLOAD {
        let max = units::format_size(limits::MAX_PAYLOAD);
        return Err(CommandError::failed(format!(
            "{name} is more than the {max} that a job may carry"
        ))
        .hint("store the data elsewhere and submit a reference to it"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_forms() {
        assert_eq!(parse("-").unwrap(), Input::Stdin);
        assert_eq!(parse("@a b.png").unwrap(), Input::File("a b.png".into()));
        assert_eq!(parse(" {\"a\": 1}").unwrap(), Input::Json(" {\"a\": 1}".to_owned()));
        assert!(parse("picture.png").unwrap_err().hint.unwrap().contains("@FILE"));
        assert!(parse("").is_err());
    }

    #[test]
    fn an_endless_input_is_cut_off() {
        let error = bounded(io::repeat(b'x'), "standard input").unwrap_err();
        assert!(error.message.contains("8MiB"), "{}", error.message);
    }
}
