//! What handlers share.

use crate::budget::Budget;
use crate::types::Info;
use cofferdam_core::module::Digest;
use cofferdam_runner::{Publisher, Secrets, Submitter};
use cofferdam_store::Store;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use subtle::ConstantTimeEq as _;
use tokio_util::sync::CancellationToken;

/// What a server is made of.
#[derive(Clone)]
pub struct App {
    /// The database.
    pub store: Store,
    /// Publishes versions.
    pub publisher: Publisher,
    /// Accepts jobs.
    pub submitter: Submitter,
    /// Keeps secrets.
    pub secrets: Secrets,
    /// The bearer token that requests must carry; none on a machine of one's own.
    pub token: Option<String>,
    /// What the server says of itself.
    pub info: Info,
}

/// The state of the router.
pub(crate) type Shared = Arc<State>;

/// An [`App`] with what the server needs to run it.
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) publisher: Publisher,
    pub(crate) submitter: Submitter,
    pub(crate) secrets: Secrets,
    pub(crate) info: Info,
    pub(crate) budget: Budget,
    /// Cancelled when the server is to stop: waits end early then.
    pub(crate) shutdown: CancellationToken,
    pub(crate) requests: Requests,
    token: Option<Digest>,
}

/// Requests so far, by what they came to.
#[derive(Default)]
pub(crate) struct Requests {
    pub(crate) in_flight: AtomicU64,
    pub(crate) fine: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) failed: AtomicU64,
}

impl State {
    pub(crate) fn new(app: App, shutdown: CancellationToken) -> Shared {
        Arc::new(Self {
            store: app.store,
            publisher: app.publisher,
            submitter: app.submitter,
            secrets: app.secrets,
            info: app.info,
            budget: Budget::default(),
            shutdown,
            requests: Requests::default(),
            token: app.token.map(|token| Digest::of(token.as_bytes())),
        })
    }

    /// Whether requests must carry a token.
    pub(crate) fn demands_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whether a request that carries `token` may pass.
    pub(crate) fn admits(&self, token: Option<&str>) -> bool {
        match (&self.token, token) {
            (None, _) => true,
            (Some(_), None) => false,
            // Digests have one length and are compared in constant time, so the time of an answer
            // tells neither the length of the token nor how much of a guess was right.
            (Some(known), Some(token)) => {
                known.as_bytes().ct_eq(Digest::of(token.as_bytes()).as_bytes()).into()
            }
        }
    }
}
