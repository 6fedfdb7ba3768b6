//! What the roles share: a server beside the rest, and ways to end.

use crate::error::{CommandError, Result};
use crate::exit::Exit;
use cofferdam_api::ServeError;
use std::io::{self, Write as _};
use std::sync::mpsc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long the last words of a process may take.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A server that runs beside the rest.
pub(super) struct Server {
    pub(super) task: JoinHandle<Result<(), ServeError>>,
    pub(super) stop: CancellationToken,
}

impl Server {
    /// Waits until the server has ended by itself, which it only does when it fails.
    pub(super) async fn ended(&mut self) -> CommandError {
        match (&mut self.task).await {
            Ok(Ok(())) => CommandError::failed("the server stopped"),
            Ok(Err(error)) => CommandError::hinted(Exit::Failed, &error),
            Err(error) => CommandError::failed("the server stopped").caused_by(&error),
        }
    }

    /// Lets the requests under way finish.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::warn!(%error, "the server did not stop well");
        }
    }
}

/// Ends the process because its control runtime does not come round any more. Called on a thread
/// of its own, because nothing else can be relied on then.
pub(super) fn give_up(reason: &str) {
    end_saying(format!("error: giving up: {reason}\n"));
}

/// The same where errors are JSON.
pub(super) fn give_up_in_json(reason: &str) {
    let error = CommandError::new(Exit::GaveUp, format!("giving up: {reason}"));
    end_saying(format!("{}\n", error.to_json()));
}

/// Says it, if that is possible at all, and ends. What the runtime hangs on may be this very
/// standard error, whose reader has stopped reading: then the words are not waited for.
#[expect(clippy::exit, reason = "the runtime that would end the process in order hangs")]
fn end_saying(words: String) {
    let (done, said) = mpsc::channel();
    let speaker = std::thread::Builder::new().name("last words".to_owned()).spawn(move || {
        let written = io::stderr().write_all(words.as_bytes());
        // Nobody is left to tell that it could not be said.
        let _ = done.send(written);
    });
    if speaker.is_ok() {
        let _ = said.recv_timeout(LAST_WORDS);
    }
    std::process::exit(Exit::GaveUp.code().into());
}
