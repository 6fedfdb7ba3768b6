//! Uploads of components: multipart, read as they come.

use crate::body;
use crate::error::{Answer, Problem};
use axum::body::Body;
use axum::http::{HeaderMap, header};
use cofferdam_core::limits::MAX_COMPONENT;
use cofferdam_core::manifest::Manifest;
use cofferdam_core::units::format_size;
use multer::{Field, Multipart};

/// The largest manifest, in bytes of JSON.
const MAX_MANIFEST: u64 = 256 * 1024;
/// What the headers and boundaries around the parts may add to the size of an upload.
const OVERHEAD: u64 = 64 * 1024;

/// The largest body of an upload, in bytes: what there must be room for.
pub(crate) const MAX_BYTES: u64 = MAX_COMPONENT + MAX_MANIFEST + OVERHEAD;

/// A whole upload.
#[derive(Debug)]
pub(crate) struct Upload {
    pub(crate) manifest: Manifest,
    pub(crate) component: Vec<u8>,
}

/// Reads an upload. Never holds more than [`MAX_BYTES`] of it.
pub(crate) async fn read(headers: &HeaderMap, body: Body) -> Answer<Upload> {
    let announced = body::announced(headers).unwrap_or_default() as u64;
    if announced > MAX_BYTES {
        return Err(component_too_large());
    }
    let mut parts = Multipart::new(body.into_data_stream(), boundary(headers)?);
    let mut manifest = None;
    while let Some(part) = parts.next_field().await.map_err(broken)? {
        match part.name() {
            Some("manifest") if manifest.is_none() => {
                let json = read_part(part, MAX_MANIFEST, 0, manifest_too_large).await?;
                manifest = Some(body::parse(&json).map_err(|problem| problem.within("manifest"))?);
            }
            Some("component") => {
                let component =
                    read_part(part, MAX_COMPONENT, announced, component_too_large).await?;
                finish(&mut parts).await?;
                return Ok(Upload { manifest: manifest.unwrap_or_default(), component });
            }
            name => {
                let name = name.unwrap_or_default().chars().take(64).collect::<String>();
                return Err(Problem::invalid(
                    "unknown-part",
                    format!("`{name}` is not expected here"),
                )
                .hint("send at most one part `manifest` first and then the part `component`"));
            }
        }
    }
    Err(Problem::invalid("no-component", "the upload has no part `component`").field("component"))
}

fn boundary(headers: &HeaderMap) -> Answer<String> {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value
        .and_then(|text| multer::parse_boundary(text).ok())
        .ok_or_else(|| Problem::media_type("multipart/form-data; boundary=..."))
}

/// Reads one part of at most `max` bytes, holding the limit while reading.
async fn read_part(
    mut part: Field<'_>,
    max: u64,
    announced: u64,
    too_large: fn() -> Problem,
) -> Answer<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(announced.min(max)).unwrap_or_default());
    while let Some(chunk) = part.chunk().await.map_err(broken)? {
        if bytes.len() as u64 + chunk.len() as u64 > max {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Sees to it that the component was the last part and that the end has arrived: a component
/// that was cut at the end of a chunk would look whole otherwise.
async fn finish(parts: &mut Multipart<'_>) -> Answer<()> {
    match parts.next_field().await.map_err(broken)? {
        None => Ok(()),
        Some(_) => Err(Problem::invalid("unknown-part", "there is a part after `component`")
            .hint("send `component` last")),
    }
}

fn component_too_large() -> Problem {
    let max = format_size(MAX_COMPONENT);
    Problem::too_large("component-too-large", format!("the component is larger than {max}"))
        .hint("build it with `opt-level = \"s\"` and without debug information")
        .field("component")
}

fn manifest_too_large() -> Problem {
    let max = format_size(MAX_MANIFEST);
    Problem::too_large("manifest-too-large", format!("the manifest is larger than {max}"))
        .field("manifest")
}

fn broken(error: multer::Error) -> Problem {
    match error {
        multer::Error::IncompleteFieldData { .. }
        | multer::Error::IncompleteHeaders
        | multer::Error::IncompleteStream
        | multer::Error::StreamReadFailed(_) => {
            Problem::malformed("upload-truncated", "the upload ended before it was complete")
                .hint("send it again; nothing was stored")
        }
        other => Problem::malformed("bad-multipart", format!("the upload is malformed: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    const END: &str = "\r\n--x--\r\n";

    fn part(name: &str, content: &str) -> String {
        format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{content}")
    }

    async fn code_of(text: String) -> &'static str {
        read_text(text).await.unwrap_err().parts().code
    }

    async fn read_text(text: String) -> Answer<Upload> {
        let mut headers = HeaderMap::new();
        let value = HeaderValue::from_static("multipart/form-data; boundary=x");
        headers.insert(header::CONTENT_TYPE, value);
        read(&headers, Body::from(text)).await
    }

    #[tokio::test]
    async fn manifest_and_component_come_out() {
        // given an upload of two parts
        let manifest = part("manifest", r#"{"module": {"name": "images"}}"#);
        let text = format!("{manifest}\r\n{}{END}", part("component", "wasm"));
        // when it is read
        let upload = read_text(text).await.unwrap();
        // then both are there
        assert_eq!(upload.component, b"wasm");
        assert_eq!(upload.manifest.module.name.unwrap().as_str(), "images");
    }

    #[tokio::test]
    async fn an_upload_that_was_cut_off_is_told_from_a_whole_one() {
        let whole = format!("{}{END}", part("component", &"wasm".repeat(1000)));
        assert!(read_text(whole.clone()).await.is_ok());
        for end in [20, 70, 2000, whole.len() - END.len(), whole.len() - 6] {
            assert_eq!(code_of(whole[..end].to_owned()).await, "upload-truncated", "cut at {end}");
        }
    }

    #[tokio::test]
    async fn other_parts_are_refused() {
        let unknown = format!("{}{END}", part("extra", ""));
        assert_eq!(code_of(unknown).await, "unknown-part");
        let late = format!("{}\r\n{}{END}", part("component", ""), part("manifest", "{}"));
        assert_eq!(code_of(late).await, "unknown-part");
        let none = format!("{}{END}", part("manifest", "{}"));
        assert_eq!(code_of(none).await, "no-component");
    }

    #[tokio::test]
    async fn a_bad_manifest_is_refused_with_its_field() {
        let text = format!("{}{END}", part("manifest", r#"{"limits": {"fule": 1}}"#));
        let problem = read_text(text).await.unwrap_err();
        assert_eq!(problem.parts().field.as_deref(), Some("manifest.limits.fule"));
        let flood = format!("{}{END}", part("manifest", &" ".repeat(300 * 1024)));
        assert_eq!(code_of(flood).await, "manifest-too-large");
    }
}
