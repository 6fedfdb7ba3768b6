//! Between the bytes of a job and the types of a handler: JSON, except for bytes.
//!
//! A `Vec<u8>` is a JSON array to serde, but raw bytes to a handler. Rust prefers an inherent
//! method to one of a trait, so the exceptions are inherent and the rule is a trait: the choice
//! follows the type, whatever name it has in the handler's signature.

use crate::error::Error;
use serde::{Serialize, de::DeserializeOwned};
use std::marker::PhantomData;

/// How an input of type `T` is made of bytes.
pub struct Decode<T>(PhantomData<T>);

impl<T> Decode<T> {
    /// The marker of the type.
    #[expect(clippy::new_without_default, reason = "made only by the code of `#[handler]`")]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl Decode<Vec<u8>> {
    /// The bytes, taken.
    pub fn decode(self, input: &mut Vec<u8>) -> Result<Vec<u8>, Error> {
        Ok(std::mem::take(input))
    }
}

impl<'a> Decode<&'a [u8]> {
    /// The bytes, borrowed.
    pub fn decode(self, input: &'a [u8]) -> Result<&'a [u8], Error> {
        Ok(input)
    }
}

impl Decode<()> {
    /// Whatever was sent is not looked at.
    pub fn decode(self, _: &mut Vec<u8>) -> Result<(), Error> {
        Ok(())
    }
}

/// The rule: JSON.
pub trait DecodeJson<T> {
    /// The value, or a permanent error with code `bad-input`.
    fn decode(self, input: &mut Vec<u8>) -> Result<T, Error>;
}

impl<T: DeserializeOwned> DecodeJson<T> for Decode<T> {
    fn decode(self, input: &mut Vec<u8>) -> Result<T, Error> {
        // Nothing sent is `null`, so that an `Option` is a way to make the input optional.
        let bytes = if input.is_empty() { b"null" } else { input.as_slice() };
        from_json(bytes).map_err(|problem| {
            let problem = if input.is_empty() {
                "the job has no input, but this kind needs one".to_owned()
            } else {
                format!("the input does not fit: {problem}")
            };
            Error::permanent(problem).with_code("bad-input")
        })
    }
}

/// How an output of type `T` becomes bytes.
pub struct Encode<T>(T);

impl<T> Encode<T> {
    /// The output, still to be encoded.
    pub const fn new(output: T) -> Self {
        Self(output)
    }
}

impl Encode<Vec<u8>> {
    /// The bytes themselves.
    pub fn encode(self) -> Result<Vec<u8>, Error> {
        Ok(self.0)
    }
}

impl Encode<()> {
    /// No bytes.
    pub fn encode(self) -> Result<Vec<u8>, Error> {
        Ok(Vec::new())
    }
}

/// The rule: JSON.
pub trait EncodeJson {
    /// The text of the value, or a permanent error with code `not-json`.
    fn encode(self) -> Result<Vec<u8>, Error>;
}

impl<T: Serialize> EncodeJson for Encode<T> {
    fn encode(self) -> Result<Vec<u8>, Error> {
        to_json(&self.0)
    }
}

/// Reads one JSON value and nothing after it. The error says which field does not fit.
pub(crate) fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let mut from = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut from).map_err(|error| {
        let path = error.path().to_string();
        let problem = error.into_inner();
        // The path of the whole value is a lone dot, and a missing field is named by the problem.
        if path == "." { problem.to_string() } else { format!("field `{path}`: {problem}") }
    })?;
    from.end().map_err(|error| error.to_string())?;
    Ok(value)
}

/// Writes a value as JSON. What cannot be written now cannot be written later.
pub(crate) fn to_json<T: Serialize>(value: &T) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(value).map_err(|error| {
        Error::permanent(format!("the value cannot be written as JSON: {error}"))
            .with_code("not-json")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Retry;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Resize {
        size: Size,
        image: Vec<u8>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Size {
        width: u32,
    }

    fn decode(text: &str) -> Result<Resize, Error> {
        Decode::<Resize>::new().decode(&mut text.as_bytes().to_vec())
    }

    #[test]
    fn a_type_of_the_handler_is_json() {
        let expected = Resize { size: Size { width: 3 }, image: vec![1, 2] };
        assert_eq!(decode(r#"{"size":{"width":3},"image":[1,2]}"#).unwrap(), expected);
        let written = Encode::new(expected).encode().unwrap();
        assert_eq!(written, br#"{"size":{"width":3},"image":[1,2]}"#);
    }

    #[test]
    fn bytes_are_bytes_under_any_name() {
        type Image = Vec<u8>;
        let mut input = b"\xffnot json".to_vec();
        assert_eq!(Decode::<&[u8]>::new().decode(&input).unwrap(), b"\xffnot json");
        assert_eq!(Decode::<Image>::new().decode(&mut input).unwrap(), b"\xffnot json");
        assert_eq!(Encode::new(Image::from(*b"\xff")).encode().unwrap(), b"\xff");
        assert_eq!(Encode::new(()).encode().unwrap(), b"");
    }

    #[test]
    fn an_input_that_does_not_fit_names_the_field_and_is_not_tried_again() {
        for (text, part) in [
            (r#"{"size":{"width":"wide"},"image":[]}"#, "field `size.width`: invalid type: string"),
            (r#"{"size":{"width":1},"image":[1,256]}"#, "field `image[1]`: invalid value"),
            (r#"{"size":{"width":1}}"#, "missing field `image`"),
            (r#"{"size":{"width":1},"image":[]} x"#, "trailing characters"),
            ("", "the job has no input"),
            ("{", "EOF"),
        ] {
            let error = decode(text).unwrap_err();
            assert!(error.message().contains(part), "{}", error.message());
            assert_eq!((error.code(), error.advice()), ("bad-input", Retry::Permanent));
        }
    }

    #[test]
    fn an_optional_input_may_be_left_out() {
        let mut nothing = Vec::new();
        assert_eq!(Decode::<Option<u32>>::new().decode(&mut nothing).unwrap(), None);
        assert_eq!(Decode::<Option<u32>>::new().decode(&mut b"7".to_vec()).unwrap(), Some(7));
    }
}
