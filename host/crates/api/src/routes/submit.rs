//! Submitting jobs.

use crate::app::Shared;
use crate::body;
use crate::error::{Answer, Problem};
use crate::extract::Tenant;
use crate::types::{NewJobBody, SubmitBody, Submitted, SubmittedJob};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use cofferdam_core::job::{JobOptions, NewJob};
use cofferdam_core::limits::LimitWish;
use cofferdam_core::retry::MAX_DELAY;
use cofferdam_core::units::format_duration;
use std::time::Duration;

/// Submit jobs
///
/// Accepts one job, or several under the key `jobs`: all of them or none. A job whose `id` is
/// known already is not submitted again; the answer says what became of it.
#[utoipa::path(
    post, path = "/api/v1/jobs",
    operation_id = "submit_jobs", tag = "jobs",
    request_body = SubmitBody,
    responses(
        (status = 201, description = "Accepted, in the order of the request", body = Submitted),
        (status = 200, description = "All of them had been submitted before", body = Submitted),
    ),
)]
pub(crate) async fn submit(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    body::Json(body, _room): body::Json<SubmitBody>,
) -> Answer<(StatusCode, Json<Submitted>)> {
    let (asked, alone) = match body {
        SubmitBody::One(job) => (vec![read_job(*job)?], true),
        SubmitBody::Many(jobs) => {
            let place = |(index, job)| {
                read_job(job).map_err(|problem| problem.within(&format!("jobs[{index}]")))
            };
            (jobs.into_iter().enumerate().map(place).collect::<Answer<_>>()?, false)
        }
    };
    let jobs = timed(&state, asked).await?;
    let accepted = state.submitter.submit(tenant, jobs).await;
    let accepted = accepted.map_err(|error| Problem::of_submission(error, alone))?;
    let jobs: Vec<_> = accepted
        .into_iter()
        .map(|job| SubmittedJob { id: job.id, state: job.state, created: job.created })
        .collect();
    let created = jobs.iter().any(|job| job.created);
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(Submitted { jobs })))
}

/// A job that is asked for, and how long after now it may start.
struct Asked {
    job: NewJob,
    delay: Option<Duration>,
}

/// The jobs with their delays turned into times by the database's clock, which is the one that
/// decides when they are due. It is read only where there is a delay.
async fn timed(state: &Shared, asked: Vec<Asked>) -> Answer<Vec<NewJob>> {
    if asked.iter().all(|asked| asked.delay.is_none()) {
        return Ok(asked.into_iter().map(|asked| asked.job).collect());
    }
    let now = state.store.now().await?;
    let start = |Asked { job, delay }| {
        let run_at = delay.map_or(job.run_at, |delay: Duration| Some(now + delay));
        NewJob { run_at, ..job }
    };
    Ok(asked.into_iter().map(start).collect())
}

fn read_job(body: NewJobBody) -> Answer<Asked> {
    let payload = payload(&body)?;
    if body.run_at.is_some() && body.delay.is_some() {
        return Err(both("run_at", "delay"));
    }
    let delay = body.delay.map(bounded).transpose()?;
    let job = NewJob {
        id: body.id,
        module: body.module,
        queue: body.queue,
        priority: body.priority.unwrap_or_default(),
        run_at: body.run_at,
        payload,
        options: JobOptions {
            max_attempts: body.max_attempts,
            backoff: body.backoff,
            limits: LimitWish {
                deadline: body.deadline,
                fuel: body.fuel,
                memory_bytes: body.memory_bytes,
            },
            args: body.args,
            env: body.env,
            metadata: body.metadata,
        },
    };
    Ok(Asked { job, delay })
}

fn bounded(delay: Duration) -> Answer<Duration> {
    if delay > MAX_DELAY {
        let max = format_duration(MAX_DELAY);
        return Err(Problem::invalid("bad-field", format!("the delay is longer than {max}"))
            .hint("name the time with `run_at` instead")
            .field("delay"));
    }
    Ok(delay)
}

fn payload(body: &NewJobBody) -> Answer<Vec<u8>> {
    match (&body.input, &body.input_base64) {
        (None, None) => Ok(Vec::new()),
        (Some(json), None) => Ok(json.get().as_bytes().to_vec()),
        (None, Some(text)) => BASE64_STANDARD.decode(text).map_err(|error| {
            Problem::invalid("bad-field", format!("the input is not Base64: {error}"))
                .hint("use the standard alphabet with padding")
                .field("input_base64")
        }),
        (Some(_), Some(_)) => Err(both("input", "input_base64")),
    }
}

fn both(one: &str, other: &str) -> Problem {
    Problem::invalid("bad-field", format!("`{one}` and `{other}` exclude each other")).field(other)
}
