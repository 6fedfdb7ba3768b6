//! A private cluster, open.

use crate::binaries::Binaries;
use crate::error::ClusterError;
use crate::place::Place;
use crate::server::Server;
use crate::settings::ClusterSettings;
use crate::watch::Watcher;
use crate::{initdb, process, remove, socket};
use std::path::Path;

/// The longest name of a database, in bytes. The server cuts longer ones short without an error.
const MAX_NAME: usize = 63;

/// A private cluster that runs. Dropping it stops the server, as [`Cluster::stop`] does but
/// without telling whether that went well.
#[derive(Debug)]
pub struct Cluster {
    place: Place,
    binaries: Binaries,
    server: Server,
    watcher: Option<Watcher>,
    stopped: bool,
}

impl Cluster {
    /// Makes the cluster when there is none, starts its server and waits until it is ready.
    ///
    /// A server that an earlier process left running, because it was killed, is taken over. As
    /// root, the server runs as `postgres` or `nobody`; where that user cannot enter the data
    /// folder, the files are kept below `/var/lib/cofferdam` ([`Cluster::home`] says where).
    pub fn open(settings: &ClusterSettings) -> Result<Self, ClusterError> {
        let place = Place::claim(&settings.data_dir)?;
        let binaries = initdb::programs(&place.pgdata())?;
        let socket_dir = socket::folder(&place.pgdata());
        let mut watcher = settings
            .temporary
            .then(|| Watcher::start(&[&place.home, &place.data_dir, &socket_dir]))
            .transpose()?;
        initdb::ensure(&place, &binaries, settings.durable)?;
        let server = Server::run(&place, &binaries, settings)?;
        if let Some(watcher) = &mut watcher {
            watcher.server(server.pid);
        }
        tracing::debug!(
            pid = server.pid,
            version = binaries.version(),
            home = %place.home.display(),
            account = %place.account,
            "private PostgreSQL is ready"
        );
        Ok(Self { place, binaries, server, watcher, stopped: false })
    }

    /// The URL of a database, for libraries that know `host` as a parameter.
    pub fn url(&self, database: &str) -> String {
        socket::url(&self.server.socket_dir, database)
    }

    /// Makes a database when there is none of that name. Says whether it made it.
    pub fn create_database(&self, name: &str) -> Result<bool, ClusterError> {
        if name.is_empty() || name.len() > MAX_NAME || name.contains('\0') {
            return Err(ClusterError::BadDatabaseName { name: name.to_owned() });
        }
        let mut command = process::command(&self.binaries.program("createdb"), &self.place.account);
        command.arg("--host").arg(&self.server.socket_dir);
        command.args(["--port", socket::PORT, "--username", "postgres"]);
        command.args(["--maintenance-db", "postgres", "--", name]);
        match process::run(&mut command) {
            Ok(()) => Ok(true),
            Err(ClusterError::Failed { said, .. }) if said.ends_with("already exists") => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The folder that holds the files: the one asked for, unless its user cannot enter that.
    pub fn home(&self) -> &Path {
        &self.place.home
    }

    /// Whether the files are kept in another folder than the one asked for.
    pub fn moved(&self) -> bool {
        self.place.moved()
    }

    /// The programs that run it.
    pub fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    /// The process of the server.
    pub fn pid(&self) -> i32 {
        self.server.pid
    }

    /// Whether the server was left running by an earlier process and taken over.
    pub fn adopted(&self) -> bool {
        self.server.adopted()
    }

    /// Stops the server: open connections end, what they had not committed is rolled back. A
    /// temporary cluster is removed as well.
    pub fn stop(mut self) -> Result<(), ClusterError> {
        self.close()
    }

    fn close(&mut self) -> Result<(), ClusterError> {
        if self.stopped {
            return Ok(());
        }
        self.stopped = true;
        self.server.stop()?;
        remove::socket(&self.place)?;
        if let Some(watcher) = self.watcher.take() {
            remove::whole(&self.place)?;
            watcher.dismiss();
        }
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::warn!(%error, "cannot stop the private PostgreSQL");
        }
    }
}
