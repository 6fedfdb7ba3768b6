//! Reads on after a refusal, so that the client gets to see it.
//!
//! Most clients write their whole request before they read the answer. Closing a connection with
//! unread bytes on it resets it, and the client learns of a reset instead of the problem. So what
//! is left of a refused body is read and dropped, within bounds, before the answer goes out.

use axum::body::{Body, BodyDataStream};
use axum::extract::Request;
use axum::http::header;
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

/// The most bytes that are dropped for one request: a client that goes on for longer is cut off.
const MOST_BYTES: usize = 256 << 20;
/// The longest time that is spent on it.
const LONGEST: Duration = Duration::from_secs(20);

pub(crate) async fn drain(request: Request, next: Next) -> Response {
    // Such a client waits for a word from us before it sends anything, so there is nothing to
    // read if the handler did not.
    let asks_first = request.headers().contains_key(header::EXPECT);
    let (parts, body) = request.into_parts();
    let rest = Shared(Arc::new(Mutex::new(body.into_data_stream())));
    let request = Request::from_parts(parts, Body::from_stream(rest.clone()));
    let response = next.run(request).await;
    let refused = response.status().is_client_error() || response.status().is_server_error();
    if refused && !asks_first {
        // Out of time: the client is cut off, which is what the bound is for.
        let _ = tokio::time::timeout(LONGEST, drop_all(rest)).await;
    }
    response
}

async fn drop_all(mut rest: Shared) {
    let mut dropped = 0;
    while let Some(Ok(chunk)) = rest.next().await {
        dropped += chunk.len();
        if dropped > MOST_BYTES {
            break;
        }
    }
}

/// A body that its handler reads, and what is left of it after that.
#[derive(Clone)]
struct Shared(Arc<Mutex<BodyDataStream>>);

impl Stream for Shared {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // Handler and drain take turns, so the lock is never contended.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).poll_next_unpin(context)
    }
}
