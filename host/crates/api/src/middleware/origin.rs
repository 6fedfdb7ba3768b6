//! Keeps web pages from driving the server through the browser of whoever looks at them.
//!
//! A server on a machine of one's own has no token, and a browser on that machine can reach it.
//! Two things stop a page from elsewhere: a request that a browser marks as coming from another
//! origin may not change anything, and a server without a token answers only to names that no
//! stranger's name server can point at it.

use crate::app::Shared;
use crate::error::{Answer, Problem};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Uri, header, uri::Authority};
use axum::middleware::Next;
use axum::response::Response;
use std::net::IpAddr;

pub(crate) async fn origin(
    State(state): State<Shared>,
    request: Request,
    next: Next,
) -> Answer<Response> {
    let host = host(&request);
    if !state.demands_token() && host.as_ref().is_some_and(|host| !is_local_name(host)) {
        return Err(Problem::forbidden(
            "unknown-host",
            "a server without a token answers only to `localhost` and to addresses",
        )
        .hint("use the address, or start the server with a token"));
    }
    let origin = origin_of(request.headers());
    if !request.method().is_safe() && origin.is_some() && origin != host.as_ref().map(authority) {
        return Err(Problem::forbidden(
            "cross-origin",
            "requests that change something are not taken from pages of another origin",
        ));
    }
    Ok(next.run(request).await)
}

/// The name by which the client knows the server: of the URL in HTTP/2, of the header otherwise.
fn host(request: &Request) -> Option<Authority> {
    let header = || request.headers().get(header::HOST)?.to_str().ok()?.parse().ok();
    request.uri().authority().cloned().or_else(header)
}

/// The origin that a browser names, without its scheme. An origin that is none, such as `null`,
/// equals no host.
fn origin_of(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::ORIGIN)?.to_str().unwrap_or_default();
    let uri: Option<Uri> = text.parse().ok();
    Some(uri.as_ref().and_then(Uri::authority).map(authority).unwrap_or_default())
}

fn authority(authority: &Authority) -> String {
    authority.as_str().to_ascii_lowercase()
}

/// Names that mean this machine, or no name but an address: DNS cannot rebind them.
fn is_local_name(authority: &Authority) -> bool {
    let host = authority.host();
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_and_localhost_are_local() {
        for local in ["localhost:7070", "LOCALHOST", "127.0.0.1:1", "[::1]:7070", "10.0.0.7"] {
            assert!(is_local_name(&local.parse().unwrap()), "{local}");
        }
        for other in ["evil.example:7070", "localhost.evil.example", "127.0.0.1.evil.example"] {
            assert!(!is_local_name(&other.parse().unwrap()), "{other}");
        }
    }
}
