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
use cofferdam_core::Time;
use cofferdam_core::job::{JobOptions, NewJob};
use cofferdam_core::limits::LimitWish;
use cofferdam_core::retry::MAX_DELAY;
use cofferdam_core::units::format_duration;
use std::time::{Duration, SystemTime};

/// Submit jobs
///
/// Accepts one job, or several under the key `jobs`: all of them or none. A job whose `id` is
/// known already is not submitted again; the answer says what became of it.
#[utoipa::path(
    post, path = "/api/v1/jobs",
    operation_id = "submit_jobs", tag = "jobs",
    request_body = SubmitBody,
    responses((status = 201, description = "Accepted, in the order of the request", body = Submitted)),
)]
pub(crate) async fn submit(
    State(state): State<Shared>,
    Tenant(tenant): Tenant,
    body::Json(body, _room): body::Json<SubmitBody>,
) -> Answer<(StatusCode, Json<Submitted>)> {
    let now = Time::from(SystemTime::now());
    let jobs = match body {
        SubmitBody::One(job) => vec![new_job(*job, now)?],
        SubmitBody::Many(jobs) => {
            let place = |(index, job)| {
                new_job(job, now).map_err(|problem| problem.within(&format!("jobs[{index}]")))
            };
            jobs.into_iter().enumerate().map(place).collect::<Answer<_>>()?
        }
    };
    let accepted = state.submitter.submit(tenant, jobs).await?;
    let jobs = accepted
        .into_iter()
        .map(|job| SubmittedJob { id: job.id, state: job.state, created: job.created })
        .collect();
    Ok((StatusCode::CREATED, Json(Submitted { jobs })))
}

/// A job as it is asked for, at `now` on this server's clock.
///
/// A delay is the one thing that this clock decides: it is meant from the moment of the request,
/// and reading the database's clock for it would cost a round trip.
fn new_job(body: NewJobBody, now: Time) -> Answer<NewJob> {
    let payload = payload(&body)?;
    let run_at = match (body.run_at, body.delay) {
        (Some(_), Some(_)) => return Err(both("run_at", "delay")),
        (run_at, None) => run_at,
        (None, Some(delay)) => Some(after(now, delay)?),
    };
    Ok(NewJob {
        id: body.id,
        module: body.module,
        queue: body.queue,
        priority: body.priority.unwrap_or_default(),
        run_at,
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
    })
}

fn after(now: Time, delay: Duration) -> Answer<Time> {
    if delay > MAX_DELAY {
        let max = format_duration(MAX_DELAY);
        return Err(Problem::invalid("bad-field", format!("the delay is longer than {max}"))
            .hint("name the time with `run_at` instead")
            .field("delay"));
    }
    Ok(now + delay)
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
