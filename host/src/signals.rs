//! Being told to stop.

use crate::error::{CommandError, Result};
use crate::exit::Exit;
use std::future::Future;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Cancelled by SIGINT and SIGTERM: the first asks to stop, the second to stop at once.
#[derive(Clone, Debug)]
pub(crate) struct Signals {
    /// The first.
    pub(crate) stop: CancellationToken,
    /// The second.
    pub(crate) hurry: CancellationToken,
}

impl Signals {
    /// Starts to listen for signals, which from now on end nothing by themselves.
    pub(crate) fn listen() -> Result<Self> {
        let mut streams = Streams::open()?;
        let signals = Self { stop: CancellationToken::new(), hurry: CancellationToken::new() };
        let told = signals.clone();
        tokio::spawn(async move {
            streams.next().await;
            told.stop.cancel();
            streams.next().await;
            told.hurry.cancel();
        });
        Ok(signals)
    }
}

/// Runs a command until it is done or a signal comes.
pub(crate) async fn interruptible(command: impl Future<Output = Result<Exit>>) -> Result<Exit> {
    let mut streams = Streams::open()?;
    tokio::select! {
        result = command => result,
        () = streams.next() => Ok(Exit::Interrupted),
    }
}

struct Streams {
    interrupt: Signal,
    terminate: Signal,
}

impl Streams {
    fn open() -> Result<Self> {
        let open = |kind| {
            signal(kind).map_err(|error| {
                CommandError::failed("cannot listen for signals").caused_by(&error)
            })
        };
        Ok(Self {
            interrupt: open(SignalKind::interrupt())?,
            terminate: open(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
