//! Requests that the child asks this side to send: counted and bounded here again, because a guest
//! that took its process over asks for what it likes.

use super::protocol::Head;
use crate::attempt::{AttemptHost, Call};
use bytes::Bytes;
use cofferdam_core::egress::{FetchError, FetchFault};
use cofferdam_core::limits::Limits;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// What became of a request.
pub(super) struct Fetched {
    pub(super) number: u64,
    pub(super) answer: Result<(Head, Bytes), FetchError>,
}

type Fetching = Pin<Box<dyn Future<Output = Option<Fetched>> + Send>>;

/// The requests of one attempt.
pub(super) struct Requests {
    host: Arc<dyn AttemptHost>,
    limits: Limits,
    under_way: FuturesUnordered<Fetching>,
    /// One for each of them, by its number.
    forgotten: Vec<(u64, CancellationToken)>,
}

impl Requests {
    pub(super) fn new(host: Arc<dyn AttemptHost>, limits: &Limits) -> Self {
        let (limits, under_way) = (limits.clone(), FuturesUnordered::new());
        Self { host, limits, under_way, forgotten: Vec::new() }
    }

    /// Sends one, or says what no child of ours does.
    pub(super) fn begin(
        &mut self,
        number: u64,
        head: &Head,
        body: Bytes,
        time: Duration,
    ) -> Result<(), &'static str> {
        let limits = &self.limits;
        // Those past the limit are refused in the child, so their numbers do not come here.
        if number > limits.http_calls || self.forgotten.iter().any(|(other, _)| *other == number) {
            return Err("it sends more requests than it may");
        }
        if self.under_way.len() as u64 >= limits.http_concurrent {
            return Err("it sends more requests at once than it may");
        }
        if body.len() as u64 > limits.http_body_bytes {
            return Err("it sends a larger body than it may");
        }
        let Some(request) = head.request(body) else {
            return Err("it sends a request that is none");
        };
        let max_answer = (limits.http_header_bytes, limits.http_body_bytes);
        let call = Call { number, request, time: time.min(limits.http_time), max_answer };
        let forgotten = CancellationToken::new();
        self.forgotten.push((number, forgotten.clone()));
        let host = Arc::clone(&self.host);
        self.under_way.push(Box::pin(async move {
            let answer = forgotten.run_until_cancelled(fetch(&*host, call)).await?;
            Some(Fetched { number, answer })
        }));
        Ok(())
    }

    /// Nobody waits for this one any more.
    pub(super) fn forget(&mut self, number: u64) {
        let found = self.forgotten.iter().find(|(other, _)| *other == number);
        if let Some((_, token)) = found {
            token.cancel();
        }
    }

    /// The next answer. Never resolves while there is none to wait for. May be dropped.
    pub(super) async fn next(&mut self) -> Fetched {
        while let Some(fetched) = self.under_way.next().await {
            if let Some(fetched) = fetched {
                self.forgotten.retain(|(number, _)| *number != fetched.number);
                return fetched;
            }
            self.forgotten.retain(|(_, token)| !token.is_cancelled());
        }
        pending().await
    }
}

/// Sends a request and waits for all of its answer: it goes on through a pipe, in one piece.
async fn fetch(host: &dyn AttemptHost, call: Call) -> Result<(Head, Bytes), FetchError> {
    let (time, (_, max)) = (call.time, call.max_answer);
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    let fetching = async {
        let (head, body) = host.fetch(call).await?.into_parts();
        let body = Limited::new(body, max).collect().await.map_err(too_large)?;
        Ok((Head::of_answer(&head), body.to_bytes()))
    };
    let late = || FetchError::new(FetchFault::Timeout, "it was not answered in time");
    timeout(time, fetching).await.unwrap_or_else(|_| Err(late()))
}

fn too_large(error: Box<dyn std::error::Error + Send + Sync>) -> FetchError {
    if error.is::<LengthLimitError>() {
        return FetchError::new(FetchFault::AnswerTooLarge, "its answer is too large");
    }
    match error.downcast::<FetchError>() {
        Ok(error) => *error,
        Err(error) => FetchError::new(FetchFault::Protocol, error.to_string()),
    }
}
