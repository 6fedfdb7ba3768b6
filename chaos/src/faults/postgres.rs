//! Faults of the database.

use super::{Done, Injector, told};
use crate::rows;
use crate::schedule::{Fault, Kind};
use anyhow::Result;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::Duration;

/// How long the database stays away at most.
const AWAY: Duration = Duration::from_secs(3);

impl Injector {
    /// Ends Postgres in one of three ways, and starts it again.
    pub(super) async fn restart(&self, fault: &Fault) -> Result<Done> {
        let signal = match fault.kind {
            Kind::RestartFast => Signal::SIGINT,
            Kind::RestartImmediate => Signal::SIGQUIT,
            _ => Signal::SIGKILL,
        };
        let away = fault.lasts.min(AWAY);
        self.postgres.restart(signal, away).await?;
        Ok(Done::Over(format!("{signal}, away {}", told(away))))
    }

    /// Kills a process of Postgres that serves the platform.
    pub(super) async fn kill_backend(&self, fault: &Fault) -> Result<Done> {
        let mut session = self.postgres.connect().await?;
        let sessions = rows::sessions(&mut session).await?;
        let any = usize::try_from(fault.chance).unwrap_or(0) % sessions.len().max(1);
        let Some((pid, name)) = sessions.get(any) else { return Ok(Done::Nothing) };
        if kill(Pid::from_raw(*pid), Signal::SIGKILL).is_err() {
            return Ok(Done::Nothing);
        }
        Ok(Done::Over(format!("pid {pid}, which served `{name}`")))
    }

    /// Ends all sessions of the platform, or about a third of them.
    pub(super) async fn terminate(&self, fault: &Fault) -> Result<Done> {
        let mut session = self.postgres.connect().await?;
        let sessions = rows::sessions(&mut session).await?;
        let all = fault.kind == Kind::TerminateAll;
        let pids: Vec<_> = (0_u64..)
            .zip(&sessions)
            .filter(|(index, _)| all || (index + fault.chance % 3).is_multiple_of(3))
            .map(|(_, (pid, _))| *pid)
            .collect();
        let ended = rows::terminate(&mut session, &pids).await?;
        Ok(if ended == 0 { Done::Nothing } else { Done::Over(format!("{ended} sessions")) })
    }
}
