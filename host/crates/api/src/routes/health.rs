//! Whether the server lives and whether it can work.

use crate::app::Shared;
use crate::error::Answer;
use axum::extract::State;

/// Alive
///
/// Whether the process answers. Asks for no token and does not look at the database: a process
/// is not to be restarted because its database is away.
#[utoipa::path(
    get, path = "/healthz", tag = "server", security(()),
    responses((status = 200, description = "It does", body = String)),
)]
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// Ready
///
/// Whether the database answers, too. Asks for no token.
#[utoipa::path(
    get, path = "/readyz", tag = "server", security(()),
    responses((status = 200, description = "It does", body = String)),
)]
pub(crate) async fn readyz(State(state): State<Shared>) -> Answer<&'static str> {
    state.store.ping().await?;
    Ok("ok\n")
}
