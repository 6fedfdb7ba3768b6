//! `job wait`.

use super::job_end;
use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::printer::Printer;
use cofferdam_core::ids::JobId;
use cofferdam_core::state::JobState;
use std::time::Duration;

/// Waits until a job has ended and exits as it did.
pub(super) async fn run(
    id: JobId,
    timeout: Option<Duration>,
    client: &Client,
    printer: Printer,
) -> Result<Exit> {
    let spinner = printer.spinner(&format!("waiting for {id}"));
    let job = job_end::wait(client, id, timeout).await;
    spinner.finish_and_clear();
    let job = job?;
    let state = job.summary.state;
    printer.data(&job, |_| format!("{id} {state}"))?;
    if state != JobState::Completed && !printer.is_json() {
        return Err(job_end::failure(&job));
    }
    Ok(job_end::exit(state, job.summary.class))
}
