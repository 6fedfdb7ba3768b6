//! The private Postgres of a run, which is stopped, killed and started again under its users.

use crate::reaper::Reaper;
use anyhow::{Context, Result, bail};
use cofferdam_localpg::{Cluster, ClusterError, ClusterSettings};
use cofferdam_testkit::proxy::Upstream;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sqlx::{Connection, PgConnection};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// The database of the platform.
const DATABASE: &str = "chaos";

/// The schema of its tables.
const SCHEMA: &str = "cofferdam";

/// How long a server may take to answer again.
const PATIENCE: Duration = Duration::from_secs(30);

/// Between two tries to connect.
const RETRY: Duration = Duration::from_millis(50);

/// How long a server that was told to stop may take before it is made to.
const STOP_BOUND: Duration = Duration::from_secs(20);

/// See the module's documentation.
pub struct Postgres {
    settings: ClusterSettings,
    cluster: Mutex<Option<Cluster>>,
    folder: PathBuf,
    home: PathBuf,
    socket: PathBuf,
    url: String,
    reaper: Arc<Reaper>,
}

impl Postgres {
    /// Makes a cluster in a folder, and a database in it.
    pub async fn start(folder: &Path, reaper: Arc<Reaper>) -> Result<Self> {
        // Commits are handed to the system before they are acknowledged: a server that is killed
        // must not lose them, which is what the run checks. Nothing waits for the disk.
        let settings = ClusterSettings { durable: false, ..ClusterSettings::new(folder) }
            .with("synchronous_commit", "on")
            .with("max_connections", "200")
            .with("shared_buffers", "64MB")
            // Recovery after a kill reads what was written since the last one.
            .with("checkpoint_timeout", "30s");
        reaper.folder(folder);
        let cluster = open(settings.clone()).await?;
        reaper.server(cluster.pid());
        let home = cluster.home().to_owned();
        reaper.folder(&home);
        cluster.create_database(DATABASE)?;
        let url = cluster.url(DATABASE);
        let mut connection = PgConnection::connect(&url).await?;
        let sockets: String =
            sqlx::query_scalar("SHOW unix_socket_directories").fetch_one(&mut connection).await?;
        let socket = PathBuf::from(sockets);
        reaper.folder(&socket);
        let cluster = Mutex::new(Some(cluster));
        Ok(Self { settings, cluster, folder: folder.to_owned(), home, socket, url, reaper })
    }

    /// The URL of the database, over its Unix socket.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The URL of the database as a proxy serves it.
    pub fn url_through(proxy: std::net::SocketAddr) -> String {
        format!("postgres://postgres@{proxy}/{DATABASE}?sslmode=disable")
    }

    /// Where a proxy finds it.
    pub fn upstream(&self) -> Upstream {
        Upstream::Unix(self.socket.join(".s.PGSQL.5432"))
    }

    /// A session that finds the platform's tables, as soon as there is a server.
    pub async fn connect(&self) -> Result<PgConnection> {
        let end = Instant::now() + PATIENCE;
        loop {
            let connected = async {
                let mut session = PgConnection::connect(&self.url).await?;
                let path = format!("SET search_path = {SCHEMA}");
                sqlx::raw_sql(sqlx::AssertSqlSafe(path)).execute(&mut session).await?;
                Ok::<_, sqlx::Error>(session)
            };
            match connected.await {
                Ok(session) => return Ok(session),
                Err(error) if Instant::now() >= end => {
                    return Err(error).context("the database does not come back");
                }
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        }
    }

    /// Ends the server with a signal, leaves it away for a while, and starts it again.
    pub async fn restart(&self, signal: Signal, away: Duration) -> Result<()> {
        let mut held = self.cluster.lock().await;
        let Some(cluster) = held.take() else { bail!("Postgres could not be started before") };
        let pid = Pid::from_raw(cluster.pid());
        kill(pid, signal).context("Postgres ran no more")?;
        tokio::task::spawn_blocking(move || {
            let end = Instant::now() + STOP_BOUND;
            while crate::proc::runs(pid.as_raw()) && Instant::now() < end {
                std::thread::sleep(RETRY);
            }
            cluster.stop()
        })
        .await??;
        tokio::time::sleep(away).await;
        let cluster = open(self.settings.clone()).await?;
        self.reaper.server(cluster.pid());
        *held = Some(cluster);
        Ok(())
    }

    /// Stops it and removes everything that it has written.
    pub async fn remove(self) -> Result<()> {
        let cluster = self.cluster.into_inner();
        tokio::task::spawn_blocking(move || {
            cluster.map(Cluster::stop).transpose()?;
            cofferdam_localpg::remove(&self.folder)?;
            // What is left is the lock, which nobody waits for. The two may be one folder.
            for folder in [&self.home, &self.folder] {
                match std::fs::remove_dir_all(folder) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                    _ => {}
                }
            }
            Ok(())
        })
        .await?
    }
}

async fn open(settings: ClusterSettings) -> Result<Cluster> {
    let opened = tokio::task::spawn_blocking(move || Cluster::open(&settings)).await?;
    opened.map_err(|error: ClusterError| {
        let hint = error.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
        anyhow::anyhow!("cannot start Postgres: {error}{hint}")
    })
}
