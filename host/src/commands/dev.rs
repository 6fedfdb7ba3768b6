//! `dev`: Postgres, a server and a worker in one process.

use super::role::Server;
use super::shift::Shift;
use crate::cli::roles::DevArgs;
use crate::config::Config;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::printer::Printer;
use crate::settings::{self, ServerSettings, WorkerFlags};
use crate::signals::Signals;
use crate::{env, telemetry, text, wire};
use cofferdam_core::key::InstallationKey;
use cofferdam_localpg::{Cluster, ClusterError, ClusterSettings};
use cofferdam_runner::{Modules, WorkerSettings};
use cofferdam_sandbox::SandboxSettings;
use cofferdam_store::{StoreError, StoreSettings};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// The folder of the private Postgres in the data folder.
const CLUSTER: &str = "postgres";
/// The database in it.
const DATABASE: &str = "cofferdam";

/// Everything that `dev` is set to.
struct Dev {
    server: ServerSettings,
    worker: WorkerSettings,
    sandbox: SandboxSettings,
    database: StoreSettings,
    key: InstallationKey,
}

/// Starts everything and runs until told to stop.
pub(super) fn run(args: &DevArgs, mut config: Config, printer: Printer) -> Result<Exit> {
    // A `DATABASE_URL` that lies about in the environment is for something else: only one that is
    // meant for us replaces the private Postgres.
    let named = config.find(&env::DATABASE_URL, args.database.database_url.clone())?;
    if named.is_some() && (args.fresh || args.data_dir.is_some()) {
        return Err(CommandError::usage("--fresh and --data-dir are for a private Postgres")
            .cause(format!("{} names another one", env::DATABASE_URL.name))
            .hint("unset it, or leave out the flags"));
    }
    let database =
        settings::store(&mut config, &args.database, "dev", named.clone().unwrap_or_default())?;
    let data_dir: PathBuf = config.get(&env::DATA_DIR, args.data_dir.clone())?;
    let worker = settings::worker(&mut config, WorkerFlags { slots: args.slots, queues: None })?;
    let server = ServerSettings::settle(&mut config, args.listen)?;
    // Components that are asked to describe themselves have places of their own.
    let sandbox = settings::sandbox(&mut config, worker.slots)?;
    telemetry::start(&mut config, telemetry::DEV)?;
    wire::control_runtime()?.block_on(async {
        let signals = Signals::listen()?;
        let listener = wire::listen(server.listen).await?;
        // May make a file, so not before it is clear that this process will start.
        let key = settings::dev_key(&mut config, &data_dir)?;
        let dev = Dev { server, worker, sandbox, database, key };
        if named.is_some() {
            serve(dev, None, listener, &signals, printer).await
        } else {
            private(dev, &data_dir, args.fresh, listener, &signals, printer).await
        }
    })
}

/// Runs with a Postgres of its own, and stops it at the end, whatever the end is.
async fn private(
    mut dev: Dev,
    data_dir: &Path,
    fresh: bool,
    listener: TcpListener,
    signals: &Signals,
    printer: Printer,
) -> Result<Exit> {
    let folder = data_dir.join(CLUSTER);
    let spinner = printer.spinner("starting Postgres");
    let opened = blocking(move || open(&folder, fresh)).await;
    spinner.finish_and_clear();
    let (cluster, url) = opened?;
    dev.database.url = url;
    let result = serve(dev, Some(&cluster), listener, signals, printer).await;
    let stopped = blocking(move || cluster.stop()).await;
    // What ended the work is the more interesting error of the two.
    let exit = result?;
    stopped.map(|()| exit)
}

fn open(folder: &Path, fresh: bool) -> Result<(Cluster, String), ClusterError> {
    if fresh {
        cofferdam_localpg::remove(folder)?;
    }
    let cluster = Cluster::open(&ClusterSettings::new(folder))?;
    cluster.create_database(DATABASE)?;
    let url = cluster.url(DATABASE);
    Ok((cluster, url))
}

/// Runs what waits for processes and files where waiting is fine.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ClusterError> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(cluster_failed(&error)),
        Err(error) => {
            Err(CommandError::failed("the private Postgres was given up").caused_by(&error))
        }
    }
}

/// A private Postgres that does not run, as an error of ours.
pub(super) fn cluster_failed(error: &ClusterError) -> CommandError {
    let mut failed = CommandError::failed("cannot run a private Postgres").caused_by(error);
    failed.hints.extend(error.hint());
    failed
}

async fn serve(
    dev: Dev,
    cluster: Option<&Cluster>,
    listener: TcpListener,
    signals: &Signals,
    printer: Printer,
) -> Result<Exit> {
    let address = listener.local_addr()?;
    let database = dev.database;
    let store = wire::connect(&database).await?;
    let applied = store.migrate().await.map_err(|error| {
        let unusable = cluster.is_some() && matches!(error, StoreError::Schema(_));
        let failed = wire::store_failed(&error);
        if unusable {
            failed.hint("or delete what is there with `cofferdam dev --fresh`")
        } else {
            failed
        }
    })?;
    let sandbox = wire::sandbox(dev.sandbox)?;
    let modules = Modules::new(store.clone(), sandbox, dev.worker.module_cache);
    let secrets = wire::secrets(&store, Some(&dev.key));
    let app = wire::app(&store, &modules, &secrets, &dev.server, &database.schema, address).await?;
    let slots = dev.worker.slots;
    let shift = Shift::new(dev.worker, store.clone(), modules, printer)?;
    let worker = shift.start().await?;
    let stop = CancellationToken::new();
    let task = tokio::spawn(cofferdam_api::serve(listener, app, stop.clone()));
    let mut server = Server { task, stop };

    tracing::debug!(migrations = applied.len(), "the schema is up to date");
    announce(address, cluster, &database, slots, printer)?;
    // The worker first: clients that wait for a job hear of its end from the server.
    let exit = shift.work(worker, signals, server.ended()).await?;
    tokio::select! {
        () = server.stop() => {}
        () = signals.hurry.cancelled() => {}
    }
    store.close().await;
    Ok(exit)
}

/// Says what runs where, and how to stop it.
fn announce(
    address: SocketAddr,
    cluster: Option<&Cluster>,
    database: &StoreSettings,
    slots: usize,
    printer: Printer,
) -> Result<()> {
    let url = format!("http://{address}");
    let home = cluster.map(|cluster| cluster.home().display().to_string());
    if printer.is_json() {
        return Printer::object(&serde_json::json!({
            "url": url,
            "pid": std::process::id(),
            "slots": slots,
            "postgres": home,
            "database_url": cluster.map(|cluster| cluster.url(DATABASE)),
        }));
    }
    let postgres = match (cluster, home) {
        (Some(cluster), Some(home)) => {
            let version = cluster.binaries().version();
            let state =
                if cluster.adopted() { ", taken over from a process that was killed" } else { "" };
            format!("{version}, private, in {home}{state}")
        }
        _ => without_password(&database.url),
    };
    printer.note(&format!(
        "Cofferdam {} for development. Ctrl-C stops it.",
        env!("CARGO_PKG_VERSION")
    ));
    let rows = [
        ("API", format!("{url}/api/v1")),
        ("Postgres", postgres),
        ("Worker", format!("{slots} slots")),
    ];
    for row in text::pairs(&rows).lines() {
        printer.note(&format!("  {row}"));
    }
    if address.port() != DEFAULT_PORT {
        printer.note(&format!("  Clients need --server {url} or COFFERDAM_SERVER={url}."));
    }
    Ok(())
}

/// The port that clients try when nothing is said.
const DEFAULT_PORT: u16 = 7070;

/// A database URL that may be shown.
pub(super) fn without_password(url: &str) -> String {
    match reqwest::Url::parse(url) {
        Ok(mut url) => {
            if url.password().is_some() && url.set_password(Some("…")).is_err() {
                return "(hidden)".to_owned();
            }
            // Passwords may stand among the parameters, too.
            url.set_query(None);
            url.to_string()
        }
        Err(_) => "(hidden)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for url in ["postgres://me:secret@db/x", "postgres://me@db/x?password=secret", "secret"] {
            assert!(!without_password(url).contains("secret"), "{url}");
        }
        assert_eq!(without_password("postgres://me@db/x"), "postgres://me@db/x");
    }
}
