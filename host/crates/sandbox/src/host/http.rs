//! `wasi:http/outgoing-handler`: what a guest sends is counted and bounded here, and handed to the
//! attempt's host, which decides whether it goes anywhere.
//!
//! A request is a task on the runtime of the sandbox, and ends with the store: the guest's handle
//! of it is what keeps it alive.

use crate::attempt::{AttemptHost, Call};
use crate::vitals::Vitals;
use bytes::Bytes;
use cofferdam_core::egress::{FetchError, FetchFault};
use cofferdam_core::log::LogLevel;
use cofferdam_core::units::format_size;
use http::HeaderMap;
use http_body_util::{BodyExt as _, Limited};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpHooks};

/// Bytes that a guest may write at a time into the body of a request. Host functions allocate this
/// much at a guest's word.
const CHUNK: usize = 64 * 1024;

/// What the linker's functions keep for one attempt.
pub(crate) struct Http {
    pub(crate) ctx: WasiHttpCtx,
    pub(crate) requests: Requests,
}

impl Http {
    pub(crate) fn new(host: Arc<dyn AttemptHost>, vitals: Arc<Vitals>) -> Self {
        let mut ctx = WasiHttpCtx::new();
        let headers = vitals.limits.http_header_bytes;
        ctx.set_field_size_limit(usize::try_from(headers).unwrap_or(usize::MAX));
        let places = usize::try_from(vitals.limits.http_concurrent).unwrap_or(usize::MAX);
        let places = Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS)));
        Self { ctx, requests: Requests { host, vitals, places, sent: 0 } }
    }
}

/// The requests of one attempt.
pub(crate) struct Requests {
    host: Arc<dyn AttemptHost>,
    vitals: Arc<Vitals>,
    /// One permit for each request that may be under way.
    places: Arc<Semaphore>,
    /// How many there were.
    sent: u64,
}

/// What `wasi:http` wants of a request: the head of its answer, and what else there is to do.
type Sending = Box<dyn Future<Output = Result<Sent, Error>> + Send>;
type Sent = (http::Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>);

impl WasiHttpHooks for Requests {
    fn set_host_header(&mut self) -> bool {
        // Whoever sends the request sets it from the URI.
        false
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        CHUNK
    }

    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _processed: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Sending {
        self.sent = self.sent.saturating_add(1);
        let (number, limit) = (self.sent, self.vitals.limits.http_calls);
        let (host, vitals) = (Arc::clone(&self.host), Arc::clone(&self.vitals));
        let places = Arc::clone(&self.places);
        Box::new(async move {
            let to = request.uri().authority().map(ToString::to_string).unwrap_or_default();
            let sent = if number > limit {
                let message = format!("the attempt may send {limit} requests");
                Err(FetchError::new(FetchFault::Denied, message))
            } else {
                send(&*host, &vitals, places, request, options, number).await
            };
            let answer = sent.map_err(|error| {
                // The guest's own library turns the code into words, or does not: the job's log is
                // where its author looks. Should this be a flood, the guest's next line ends it.
                let message = format!("request {number} to `{to}` failed: {error}");
                let _ = vitals.journal.log(LogLevel::Warn, &message, Vec::new());
                in_its_words(&error)
            })?;
            let nothing_else = Box::new(async { Ok(()) }) as Box<dyn Future<Output = _> + Send>;
            Ok((answer, nothing_else))
        })
    }
}

/// Sends one request, within the limits of the attempt.
async fn send(
    host: &dyn AttemptHost,
    vitals: &Vitals,
    places: Arc<Semaphore>,
    request: http::Request<WasiBody>,
    options: Option<RequestOptions>,
    number: u64,
) -> Result<http::Response<WasiBody>, FetchError> {
    let limits = &vitals.limits;
    let head_time = options.and_then(head_time).unwrap_or(limits.http_time).min(limits.http_time);
    let started = Instant::now();
    let sending = async {
        let headers = header_bytes(request.headers());
        if headers > limits.http_header_bytes {
            let max = format_size(limits.http_header_bytes);
            let message =
                format!("its headers are {headers} bytes, more than the {max} they may be");
            return Err(FetchError::new(FetchFault::RequestTooLarge, message));
        }
        // Nobody closes the semaphore; were it closed, there would be no bound to wait for.
        let place = places.acquire_owned().await.ok();
        let (head, body) = request.into_parts();
        let body = collected(body, limits.http_body_bytes).await?;
        // Waiting for the body and for a place may have taken the attempt past its lease.
        if vitals.kill.reason(Instant::now()).is_some() {
            return Err(FetchError::new(FetchFault::Denied, "the attempt has ended"));
        }
        let answer = host
            .fetch(Call {
                number,
                request: http::Request::from_parts(head, body),
                time: limits.http_time.saturating_sub(started.elapsed()),
                max_answer: (limits.http_header_bytes, limits.http_body_bytes),
            })
            .await?;
        // The place is taken until the answer has been read or dropped.
        Ok(answer.map(|body| {
            body.map_err(move |error| {
                let _place = &place;
                in_its_words(&error)
            })
            .boxed_unsync()
        }))
    };
    timeout(head_time, sending).await.unwrap_or_else(|_| {
        Err(FetchError::new(FetchFault::Timeout, "it was not answered in time"))
    })
}

/// All of the guest's body. The guest writes it while this waits.
async fn collected(body: WasiBody, max: u64) -> Result<Bytes, FetchError> {
    let limited = Limited::new(body, usize::try_from(max).unwrap_or(usize::MAX));
    match limited.collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            let message = format!("its body is larger than the {} it may be", format_size(max));
            Err(FetchError::new(FetchFault::RequestTooLarge, message))
        }
        Err(_) => Err(FetchError::new(FetchFault::Protocol, "its body was not finished")),
    }
}

/// How long the guest itself would wait for the head of the answer.
fn head_time(options: RequestOptions) -> Option<Duration> {
    match (options.connect_timeout, options.first_byte_timeout) {
        (Some(connect), Some(first_byte)) => Some(connect.saturating_add(first_byte)),
        (None, first_byte) => first_byte,
        // Only the way there is bounded, which is no more than a part.
        (Some(_), None) => None,
    }
}

fn header_bytes(headers: &HeaderMap) -> u64 {
    let bytes = headers.iter().map(|(name, value)| name.as_str().len() + value.len());
    bytes.sum::<usize>() as u64
}

/// A fault in the words of `wasi:http`.
fn in_its_words(error: &FetchError) -> Error {
    let message = || Some(error.message.clone());
    match error.fault {
        FetchFault::Denied => Error::HttpRequestDenied,
        FetchFault::AddressDenied => Error::DestinationIpProhibited,
        FetchFault::Dns => Error::DnsError { rcode: message(), info_code: None },
        FetchFault::Connection => Error::ConnectionRefused,
        FetchFault::Timeout => Error::HttpResponseTimeout,
        FetchFault::Tls => Error::TlsCertificateError,
        FetchFault::Protocol => Error::HttpProtocolError,
        FetchFault::RequestTooLarge => Error::HttpRequestBodySize(None),
        FetchFault::AnswerTooLarge => Error::HttpResponseBodySize(None),
        FetchFault::Internal => Error::InternalError(message()),
    }
}
