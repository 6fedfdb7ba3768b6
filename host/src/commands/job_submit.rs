//! `job submit`.

use super::job_end::{self, Ended};
use super::job_logs;
use crate::cli::job::SubmitArgs;
use crate::client::Client;
use crate::error::Result;
use crate::exit::Exit;
use crate::input::Input;
use crate::printer::Printer;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cofferdam_api::types::{JobView, NewJobBody, SubmitBody, Submitted, SubmittedJob};
use cofferdam_core::ids::JobId;
use cofferdam_core::state::JobState;
use futures_util::future::try_join;
use serde_json::value::RawValue;
use std::time::{Duration, Instant};

/// The most jobs in one request, and the most bytes of input in one: the server bounds both.
const MAX_JOBS: usize = 1_000;
const MAX_BYTES: usize = 4 << 20;

/// Submits jobs, and waits for them if that was asked for.
pub(super) async fn run(args: SubmitArgs, client: &Client, printer: Printer) -> Result<Exit> {
    let (body, bytes) = body(&args)?;
    let jobs = submit(&body, bytes, args.count, client, printer).await?;
    let waits = args.wait || args.follow || args.timeout.is_some();
    if !waits {
        for job in &jobs {
            printer.data(job, |job| job.id.to_string())?;
        }
        return Ok(Exit::Ok);
    }
    match jobs.as_slice() {
        [job] => {
            printer.note(&format!("Job {}", job.id));
            wait_for_one(job.id, &args, client, printer).await
        }
        jobs => wait_for_all(jobs, args.timeout, client, printer).await,
    }
}

/// The job as the API takes it, and how many bytes of input it carries.
fn body(args: &SubmitArgs) -> Result<(NewJobBody, usize)> {
    let mut body = NewJobBody::new(args.module.clone());
    let mut bytes = 0;
    match &args.input {
        // JSON that was typed keeps its exact text on the way; files and pipes keep their bytes.
        Some(Input::Json(text)) => {
            bytes = text.len();
            body.input = Some(RawValue::from_string(text.clone()).map_err(std::io::Error::from)?);
        }
        Some(source) => {
            let text = STANDARD.encode(source.read()?);
            bytes = text.len();
            body.input_base64 = Some(text);
        }
        None => {}
    }
    body.id = args.id;
    body.queue.clone_from(&args.queue);
    body.priority = args.priority;
    body.run_at = args.at;
    body.delay = args.delay;
    body.deadline = args.deadline;
    body.memory_bytes = args.memory;
    body.fuel = args.fuel;
    body.max_attempts = args.max_attempts;
    body.args.clone_from(&args.args);
    body.env = args.env.iter().cloned().collect();
    body.metadata = args.metadata.iter().cloned().collect();
    Ok((body, bytes))
}

/// Submits the job `count` times, many in a request.
async fn submit(
    body: &NewJobBody,
    bytes: usize,
    count: u32,
    client: &Client,
    printer: Printer,
) -> Result<Vec<SubmittedJob>> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let batch = (MAX_BYTES / bytes.max(1)).clamp(1, MAX_JOBS);
    let mut jobs: Vec<SubmittedJob> = Vec::new();
    while jobs.len() < count {
        let now = batch.min(count - jobs.len());
        let request = if now == 1 {
            SubmitBody::One(Box::new(body.clone()))
        } else {
            SubmitBody::Many(vec![body.clone(); now])
        };
        let submitted: Submitted = client.post(&["jobs"], &request).await?;
        jobs.extend(submitted.jobs);
        if count > batch {
            printer.note(&format!("{} of {count} submitted", jobs.len()));
        }
    }
    Ok(jobs)
}

async fn wait_for_one(
    id: JobId,
    args: &SubmitArgs,
    client: &Client,
    printer: Printer,
) -> Result<Exit> {
    let job = if args.follow {
        let (job, ()) = try_join(
            job_end::wait(client, id, args.timeout),
            job_logs::follow(id, client, printer),
        )
        .await?;
        job
    } else {
        let spinner = printer.spinner(&format!("waiting for {id}"));
        let job = job_end::wait(client, id, args.timeout).await;
        spinner.finish_and_clear();
        job?
    };
    give_back(job, client, printer).await
}

/// Prints the output of a job that completed; for any other, says why there is none.
async fn give_back(job: JobView, client: &Client, printer: Printer) -> Result<Exit> {
    let (id, state, class) = (job.summary.id, job.summary.state, job.summary.class);
    let mut output = None;
    if state == JobState::Completed {
        output = Some(client.bytes(&["jobs", &id.to_string(), "output"]).await?);
    }
    if printer.is_json() {
        Printer::object(&Ended::new(job, output))?;
        return Ok(job_end::exit(state, class));
    }
    match output {
        Some(bytes) => {
            Printer::bytes(&bytes)?;
            Ok(Exit::Ok)
        }
        None => Err(job_end::failure(&job)),
    }
}

/// Waits for several jobs, prints a line for each, and exits as the first that did not complete.
async fn wait_for_all(
    jobs: &[SubmittedJob],
    timeout: Option<Duration>,
    client: &Client,
    printer: Printer,
) -> Result<Exit> {
    let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let bar = printer.count_bar(jobs.len() as u64, "waiting");
    let mut worst = Exit::Ok;
    for job in jobs {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let job =
            job_end::wait(client, job.id, left).await.inspect_err(|_| bar.finish_and_clear())?;
        let (id, state) = (job.summary.id, job.summary.state);
        bar.suspend(|| printer.data(&job, |_| format!("{id} {state}")))?;
        bar.inc(1);
        if worst == Exit::Ok {
            worst = job_end::exit(state, job.summary.class);
        }
    }
    bar.finish_and_clear();
    Ok(worst)
}
