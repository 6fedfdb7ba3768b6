//! How each process of the platform is started.

use crate::journal::{ALONE, TARGET};
use crate::postgres::Postgres;
use crate::skew::Skew;
use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Settings that make everything that takes half a minute take a second, in about the same
/// proportions. A worker gives up on a heartbeat after half of its interval: much shorter ones would
/// test how busy the machine is.
const QUICK: [(&str, &str); 22] = [
    ("COFFERDAM_HEARTBEAT_INTERVAL", "800ms"),
    ("COFFERDAM_HEARTBEAT_STALENESS", "3s"),
    ("COFFERDAM_RESCUE_INTERVAL", "250ms"),
    ("COFFERDAM_PROMOTE_INTERVAL", "200ms"),
    ("COFFERDAM_POLL_INTERVAL", "250ms"),
    ("COFFERDAM_LOG_FLUSH_INTERVAL", "200ms"),
    ("COFFERDAM_DRAIN_GRACE", "3s"),
    ("COFFERDAM_LEADER_TTL", "2s"),
    ("COFFERDAM_LEADER_RENEW_INTERVAL", "500ms"),
    ("COFFERDAM_CRASH_GRACE", "1s"),
    ("COFFERDAM_ORPHAN_GRACE", "2s"),
    ("COFFERDAM_OVERDUE_GRACE", "2s"),
    ("COFFERDAM_STATEMENT_TIMEOUT", "5s"),
    ("COFFERDAM_ACQUIRE_TIMEOUT", "5s"),
    ("COFFERDAM_MAX_CONNECTIONS", "8"),
    ("COFFERDAM_SLOTS", "4"),
    ("COFFERDAM_GUEST_THREADS", "2"),
    ("COFFERDAM_MAX_MEMORY", "64MiB"),
    ("COFFERDAM_MODULE_CACHE", "16"),
    ("COFFERDAM_LOG_FORMAT", "json"),
    ("COFFERDAM_NO_PROGRESS", "1"),
    ("NO_COLOR", "1"),
];

/// How many jobs each worker runs at once, as in [`QUICK`].
pub const SLOTS: usize = 4;

/// What a process is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It serves HTTP.
    Server,
    /// It runs jobs. Workers are numbered from 1.
    Worker(usize),
}

impl Role {
    /// The name in reports.
    pub fn name(self) -> String {
        match self {
            Self::Server => "server".to_owned(),
            Self::Worker(number) => format!("worker {number}"),
        }
    }
}

/// What the processes of a run have in common.
pub struct Roles {
    /// The executable of the platform.
    pub executable: PathBuf,
    /// Where the server listens.
    pub listen: SocketAddr,
    /// The wrong clock, where there is a C compiler to make one.
    pub skew: Option<Skew>,
}

impl Roles {
    /// The command that starts a role whose database is behind a proxy.
    pub fn command(&self, role: Role, proxy: SocketAddr, skew: i64) -> Command {
        let mut command = self.bare();
        match role {
            Role::Server => {
                command.args(["server", "--listen", &self.listen.to_string()]);
            }
            Role::Worker(_) => {
                command.arg("worker");
            }
        }
        command.args(["--json", "--database-url", &Postgres::url_through(proxy)]);
        if let (Some(shim), true) = (&self.skew, skew != 0) {
            shim.apply(&mut command, skew);
        }
        command
    }

    /// Makes the platform's tables.
    pub fn migrate(&self, database_url: &str) -> Result<()> {
        self.run(["migrate", "--database-url", database_url])
    }

    /// Uploads a component under a name.
    pub fn push(&self, component: &Path, name: &str) -> Result<()> {
        let file = component.to_string_lossy();
        let server = format!("http://{}", self.listen);
        self.run(["module", "push", &*file, "--name", name, "--server", &server])
    }

    fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Result<()> {
        let mut command = self.bare();
        let output = command.args(arguments).output().context("cannot start the executable")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{command:?} failed ({}): {said}", output.status);
        Ok(())
    }

    /// The executable with the settings of the run and no others.
    fn bare(&self) -> Command {
        let mut command = Command::new(&self.executable);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("COFFERDAM_") || name == "DATABASE_URL" {
                command.env_remove(name);
            }
        }
        command.envs(QUICK).env("COFFERDAM_LOG", format!("info,{TARGET}=trace,{ALONE}=debug"));
        command.stdin(Stdio::null());
        command
    }
}
