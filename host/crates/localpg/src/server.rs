//! The server process of a cluster: start, adopt, stop.

use crate::binaries::Binaries;
use crate::error::ClusterError;
use crate::pidfile::{self, PidFile};
use crate::place::Place;
use crate::settings::ClusterSettings;
use crate::{process, remove, socket, wait};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

/// How long a server may take to end its connections, write its last checkpoint and go.
const FAST_STOP: Duration = Duration::from_mins(1);
/// How long a server may take to go without any of that.
const IMMEDIATE_STOP: Duration = Duration::from_secs(10);
/// How long sessions of a killed server may hold its shared memory before a new one starts.
const ORPHANS: Duration = Duration::from_secs(15);
/// The pause between two such starts.
const RETRY: Duration = Duration::from_millis(200);
/// The size from which a log is put aside when the server starts, in bytes.
const LOG_SIZE: u64 = 8 << 20;
/// How much of the log's end goes into an error, in bytes.
const LOG_TAIL: u64 = 4096;

/// A server that accepts connections.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) pid: i32,
    pub(crate) socket_dir: PathBuf,
    /// None when an earlier process started it.
    child: Option<Child>,
}

impl Server {
    /// The server of a cluster: the one that runs, or a new one.
    pub(crate) fn run(
        place: &Place,
        binaries: &Binaries,
        settings: &ClusterSettings,
    ) -> Result<Self, ClusterError> {
        let pgdata = place.pgdata();
        let stale = PidFile::read(&pgdata);
        if let Some(file) = &stale
            && file.names_live_server(&pgdata)
            && let Some(server) = adopt(file.pid, &pgdata, settings.start_timeout)?
        {
            return Ok(server);
        }
        let stale = stale.map(|file| file.pid);
        let patience = Instant::now() + ORPHANS;
        let result = loop {
            match start(place, binaries, settings, stale) {
                // A session that outlived a killed server holds the shared memory until it
                // notices. The server refuses to start meanwhile, which keeps the data whole.
                Err(ClusterError::Ended { log, .. })
                    if log.contains("pre-existing shared memory") && Instant::now() < patience =>
                {
                    std::thread::sleep(RETRY);
                }
                other => break other,
            }
        };
        if result.is_err() {
            // The failure says more than whether its traces could be removed.
            let _ = remove::socket(place);
        }
        result
    }

    /// Whether an earlier process started it.
    pub(crate) fn adopted(&self) -> bool {
        self.child.is_none()
    }

    /// Ends it: connections are closed, what they had open is rolled back, data is written.
    pub(crate) fn stop(&mut self) -> Result<(), ClusterError> {
        let pid = Pid::from_raw(self.pid);
        for (signal, bound) in [(Signal::SIGINT, FAST_STOP), (Signal::SIGQUIT, IMMEDIATE_STOP)] {
            // A failure means that it has ended, which the wait then sees.
            let _ = kill(pid, signal);
            if wait::until(bound, || self.ended().then_some(())).is_some() {
                return Ok(());
            }
            tracing::warn!(pid = self.pid, %signal, "PostgreSQL does not stop");
        }
        Err(ClusterError::WillNotStop { pid: self.pid })
    }

    fn ended(&mut self) -> bool {
        match &mut self.child {
            Some(child) => !matches!(child.try_wait(), Ok(None)),
            None => !pidfile::alive(self.pid),
        }
    }
}

/// The server of a data folder that an earlier process left running, if there is one.
pub(crate) fn left_running(pgdata: &Path) -> Option<Server> {
    let file = PidFile::read(pgdata)?;
    let socket_dir = file.socket_dir.clone().unwrap_or_default();
    file.names_live_server(pgdata).then_some(Server { pid: file.pid, socket_dir, child: None })
}

/// Takes over a server that a killed process left behind. None when it ended meanwhile, or had
/// lost its socket and was stopped for it.
fn adopt(pid: i32, pgdata: &Path, bound: Duration) -> Result<Option<Server>, ClusterError> {
    enum Seen {
        Ready(PathBuf),
        Unreachable,
        Ended,
    }
    let seen = wait::until(bound, || match PidFile::read(pgdata) {
        Some(file) if file.pid == pid && file.names_live_server(pgdata) => {
            let socket_dir = file.socket_dir.filter(|_| file.ready)?;
            Some(if socket::answers(&socket_dir) {
                Seen::Ready(socket_dir)
            } else {
                Seen::Unreachable
            })
        }
        _ => Some(Seen::Ended),
    });
    match seen {
        Some(Seen::Ready(socket_dir)) => {
            tracing::info!(pid, "adopted the PostgreSQL that an earlier process left running");
            Ok(Some(Server { pid, socket_dir, child: None }))
        }
        Some(Seen::Unreachable) => {
            // Its socket was removed, as cleaners of /tmp do: nobody can use it any more.
            Server { pid, socket_dir: PathBuf::new(), child: None }.stop()?;
            Ok(None)
        }
        Some(Seen::Ended) => Ok(None),
        None => Err(ClusterError::Stuck { pid }),
    }
}

/// Starts a server and waits until it accepts connections. `stale` is the process that the server
/// before was; it has ended, but its number may be another program's now, or not yet collected.
fn start(
    place: &Place,
    binaries: &Binaries,
    settings: &ClusterSettings,
    stale: Option<i32>,
) -> Result<Server, ClusterError> {
    let pgdata = place.pgdata();
    let socket_dir = socket::prepare(&pgdata, &place.account)?;
    let (log, log_start) = open_log(&place.log(), &place.old_log())?;
    let stdout =
        log.try_clone().map_err(|source| ClusterError::file("open", &place.log(), source))?;

    let mut command = process::command(&binaries.program("postgres"), &place.account);
    command.arg("-D").arg(&pgdata).args(settings.arguments(&socket_dir)?);
    command.stdout(stdout).stderr(log);
    // Its own group: the Ctrl-C that asks us to drain must not end the database under us.
    command.process_group(0);
    if let Some(pid) = stale {
        // Tells the server that this number is no server's, as `pg_ctl` does for its own shell. It
        // goes on to check the shared memory, which it would not if the file were removed.
        command.env("PG_GRANDPARENT_PID", pid.to_string());
    }
    let mut child = command.spawn().map_err(|source| ClusterError::Spawn {
        program: binaries.program("postgres").display().to_string(),
        source,
    })?;
    let pid = child.id().try_into().unwrap_or(i32::MAX);
    let seen = wait::until(settings.start_timeout, || {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(Some(status));
        }
        let ready = PidFile::read(&pgdata).is_some_and(|file| file.pid == pid && file.ready);
        (ready && socket::answers(&socket_dir)).then_some(None)
    });
    let mut server = Server { pid, socket_dir, child: Some(child) };
    match seen {
        Some(None) => Ok(server),
        Some(Some(status)) => {
            Err(ClusterError::Ended { status, log: tail(&place.log(), log_start) })
        }
        None => {
            server.stop()?;
            let log = tail(&place.log(), log_start);
            Err(ClusterError::NotReady { waited: settings.start_timeout, log })
        }
    }
}

/// Opens the log for appending, and says where this start begins in it. A large one is put aside,
/// and takes the place of the one put aside before: a server that complains for months must not
/// fill the disk.
fn open_log(path: &Path, aside: &Path) -> Result<(File, u64), ClusterError> {
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() > LOG_SIZE) {
        std::fs::rename(path, aside)
            .map_err(|source| ClusterError::file("rename", path, source))?;
    }
    let failed = |source| ClusterError::file("open", path, source);
    let file = File::options().create(true).append(true).mode(0o600).open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    Ok((file, length))
}

/// What the log says since `start`, or the end of it.
fn tail(path: &Path, start: u64) -> String {
    let read = || {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(start.max(length.saturating_sub(LOG_TAIL))))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        std::io::Result::Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    };
    read().unwrap_or_default()
}
