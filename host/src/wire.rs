//! Puts the crates together: the only place that knows all of them.

use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::settings::ServerSettings;
use cofferdam_api::{App, types::Info};
use cofferdam_core::key::{InstallationKey, Purpose};
use cofferdam_runner::{Modules, Publisher, Secrets, StartError, Submitter};
use cofferdam_sandbox::{Sandbox, SandboxSettings, WIT_VERSION};
use cofferdam_store::{Store, StoreError, StoreSettings};
use std::net::SocketAddr;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle, Runtime};

/// Threads of the control runtime. Guests never run on it, so it only waits for the database and
/// for clients.
const CONTROL_THREADS: usize = 2;

/// The runtime of a role.
pub(crate) fn control_runtime() -> Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(CONTROL_THREADS)
        .thread_name("control")
        .enable_all()
        .build()
        .map_err(|error| CommandError::failed("cannot start threads").caused_by(&error))
}

/// Opens the database, whatever its schema is.
pub(crate) async fn connect(settings: &StoreSettings) -> Result<Store> {
    Store::connect(settings).await.map_err(|error| {
        let error = CommandError::hinted(Exit::Unreachable, &error);
        if error.hints.is_empty() {
            return error.hint("`cofferdam doctor` checks what can be reached");
        }
        error
    })
}

/// Opens the database and makes sure that its schema is the one this executable knows.
pub(crate) async fn connect_migrated(settings: &StoreSettings) -> Result<Store> {
    let store = connect(settings).await?;
    store.check_schema().await.map_err(|error| store_failed(&error))?;
    Ok(store)
}

/// A database error that ends a command.
pub(crate) fn store_failed(error: &StoreError) -> CommandError {
    let exit = if error.is_transient() { Exit::Unreachable } else { Exit::Failed };
    CommandError::hinted(exit, error)
}

/// A worker that does not start.
pub(crate) fn worker_failed(error: &StartError) -> CommandError {
    match error {
        StartError::Store(error) => store_failed(error),
        StartError::Watchdog(_) => {
            CommandError::failed("the worker does not start").caused_by(error)
        }
    }
}

/// Starts a sandbox whose host calls run on this runtime.
pub(crate) fn sandbox(settings: SandboxSettings) -> Result<Sandbox> {
    Sandbox::start(settings, Handle::current())
        .map_err(|error| CommandError::hinted(Exit::Failed, &error))
}

/// Takes the address. Done before anything else is started, so that a port that is taken costs
/// nobody a Postgres.
pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| {
        let taken = error.kind() == std::io::ErrorKind::AddrInUse;
        let error = CommandError::failed(format!("cannot listen on {address}")).caused_by(&error);
        if taken {
            error.hint(
                "something listens there already: stop it, or choose another address with --listen",
            )
        } else {
            error
        }
    })
}

/// The tenants' secrets. Without a key they are neither set nor opened.
pub(crate) fn secrets(store: &Store, key: Option<&InstallationKey>) -> Secrets {
    Secrets::new(store.clone(), key.map(|key| key.derive(Purpose::Secrets)))
}

/// The server's application.
pub(crate) async fn app(
    store: &Store,
    modules: &Modules,
    secrets: &Secrets,
    settings: &ServerSettings,
    schema: &str,
    address: SocketAddr,
) -> Result<App> {
    let status = store.migration_status().await.map_err(|error| store_failed(&error))?;
    Ok(App {
        store: store.clone(),
        publisher: Publisher::new(store.clone(), modules.clone()),
        submitter: Submitter::new(store.clone(), modules.clone()),
        secrets: secrets.clone(),
        token: settings.token.clone(),
        info: Info {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            wit_version: WIT_VERSION.to_owned(),
            schema: schema.to_owned(),
            schema_version: status.current,
            listen: address.to_string(),
        },
    })
}
