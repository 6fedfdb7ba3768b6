//! Bodies of requests: read with a limit, then parsed as JSON.

use crate::app::Shared;
use crate::budget::Room;
use crate::error::{Answer, Problem};
use crate::types::{PurgeBody, RetryAllBody, RetryBody, SubmitBody};
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use cofferdam_core::manifest::Manifest;
use cofferdam_core::units::format_size;
use futures_util::StreamExt as _;
use serde::de::{DeserializeOwned, Deserializer};
use serde_json::error::Category;
use serde_path_to_error::{Deserializer as PathTracker, Track};

/// The largest JSON body of requests that carry no payloads: stops a client from making the
/// server buffer for nothing.
const SMALL_JSON: usize = 64 * 1024;
/// The largest JSON body of a submission: one payload of the largest size in Base64, or many
/// small ones.
const SUBMIT_JSON: usize = 16 << 20;

/// A type that can be the JSON body of a request.
pub(crate) trait JsonBody: DeserializeOwned {
    /// The largest body, in bytes.
    const MAX_BYTES: usize = SMALL_JSON;

    /// What no body at all means, where that means something.
    fn nothing() -> Option<Self> {
        None
    }

    /// Reads the body; `json` is what `from` reads.
    fn read<'de, D: Deserializer<'de>>(_json: &[u8], from: D) -> Result<Self, D::Error> {
        Self::deserialize(from)
    }
}

impl JsonBody for SubmitBody {
    const MAX_BYTES: usize = SUBMIT_JSON;

    fn read<'de, D: Deserializer<'de>>(json: &[u8], from: D) -> Result<Self, D::Error> {
        if Self::is_many(json) { Self::many(from) } else { Self::one(from) }
    }
}

impl JsonBody for RetryBody {
    fn nothing() -> Option<Self> {
        Some(Self::default())
    }
}

impl JsonBody for Manifest {}
impl JsonBody for RetryAllBody {}
impl JsonBody for PurgeBody {}

/// A JSON body, and the room in memory that it takes.
pub(crate) struct Json<T>(pub(crate) T, pub(crate) Room);

impl<T: JsonBody> FromRequest<Shared> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &Shared) -> Answer<Self> {
        let (parts, body) = request.into_parts();
        let announced = announced(&parts.headers);
        let room = state.budget.room(announced.unwrap_or(T::MAX_BYTES).min(T::MAX_BYTES)).await?;
        let bytes = read_all(body, announced, T::MAX_BYTES).await?;
        if bytes.is_empty()
            && let Some(value) = T::nothing()
        {
            return Ok(Self(value, room));
        }
        if !is_json(&parts.headers) {
            return Err(Problem::media_type("application/json"));
        }
        parse(&bytes).map(|value| Self(value, room))
    }
}

/// What the client says that the body measures, in bytes.
pub(crate) fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(text) = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()) else {
        return false;
    };
    let essence = text.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

/// Reads a body of at most `max` bytes. The limit holds while reading: a client that announces
/// little and sends much is stopped where it passes the limit.
pub(crate) async fn read_all(body: Body, announced: Option<usize>, max: usize) -> Answer<Vec<u8>> {
    let too_large = || {
        let max = format_size(max as u64);
        Problem::too_large("body-too-large", format!("the body is larger than {max}"))
            .hint("store large data elsewhere and submit a reference to it, or split the request")
    };
    if announced.is_some_and(|bytes| bytes > max) {
        return Err(too_large());
    }
    let mut stream = body.into_data_stream();
    let mut bytes = Vec::with_capacity(announced.unwrap_or_default());
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|_| {
            Problem::malformed("body-truncated", "the body ended before it was complete")
        })?;
        if bytes.len() + chunk.len() > max {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Reads JSON and names the field where it fails.
pub(crate) fn parse<T: JsonBody>(json: &[u8]) -> Answer<T> {
    let mut track = Track::new();
    let mut from = serde_json::Deserializer::from_slice(json);
    let read = T::read(json, PathTracker::new(&mut from, &mut track));
    let value = read.map_err(|error| {
        let field = track.path().to_string();
        bad_json(&error, Some(field).filter(|field| !matches!(field.as_str(), "." | "?")))
    })?;
    from.end().map_err(|error| bad_json(&error, None))?;
    Ok(value)
}

fn bad_json(error: &serde_json::Error, field: Option<String>) -> Problem {
    match error.classify() {
        Category::Data => {
            let problem = Problem::invalid("bad-field", error.to_string());
            match field {
                Some(field) => problem.field(field),
                None => problem,
            }
        }
        Category::Syntax | Category::Eof | Category::Io => {
            Problem::malformed("bad-json", format!("the body is not JSON: {error}"))
        }
    }
}
