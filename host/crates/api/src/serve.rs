//! Runs the server until it is told to stop.

use crate::app::{App, State};
use crate::listener::Bounded;
use crate::router;
use cofferdam_core::hint::Hint;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// How long requests that are under way may take to finish once the server is told to stop.
const GRACE: Duration = Duration::from_secs(10);

/// Why the server does not run.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Whoever reaches the address could run code here.
    #[error("a server without a token does not listen on {0}, which other machines can reach")]
    TokenNeeded(SocketAddr),
    /// The listener failed.
    #[error("the server cannot listen")]
    Listen(#[source] io::Error),
}

impl Hint for ServeError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::TokenNeeded(_) => Some("set COFFERDAM_TOKEN, or listen on 127.0.0.1".to_owned()),
            Self::Listen(_) => None,
        }
    }
}

/// Serves until `shutdown` is cancelled; then lets requests under way finish, for at most ten
/// seconds. Refuses an address that other machines can reach when the app has no token.
pub async fn serve(
    listener: TcpListener,
    app: App,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    let address = listener.local_addr().map_err(ServeError::Listen)?;
    if app.token.is_none() && !address.ip().is_loopback() {
        return Err(ServeError::TokenNeeded(address));
    }
    let router = router::with_state(State::new(app, shutdown.clone()));
    let server = axum::serve(Bounded::new(listener), router)
        .with_graceful_shutdown(shutdown.clone().cancelled_owned());
    let cut_off = async {
        shutdown.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        ended = server => ended.map_err(ServeError::Listen),
        () = cut_off => {
            tracing::warn!("requests were cut off: they did not finish within the grace period");
            Ok(())
        }
    }
}
