//! The platform's HTTP API, as a client sees it whose server may be gone at any moment.

use anyhow::{Context, Result, bail};
use reqwest::{Client as Http, Method, StatusCode};
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;
use uuid::Uuid;

/// How long an answer may take before it counts as lost.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What a cancel came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// The job waited, and is cancelled.
    AtOnce,
    /// The job runs, and is about to be.
    Requested,
    /// The job had ended before.
    TooLate,
}

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct Client {
    http: Http,
    base: String,
}

impl Client {
    /// A client of the server at an address. Nothing is sent yet.
    pub fn new(server: SocketAddr) -> Result<Self> {
        // It fails when there is one already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = Http::builder().no_proxy().timeout(TIMEOUT).build()?;
        Ok(Self { http, base: format!("http://{server}/api/v1") })
    }

    /// Submits jobs that have ids. An error means that nobody knows whether they were accepted.
    pub async fn submit(&self, jobs: &[Value]) -> Result<Submitted> {
        let body = serde_json::json!({ "jobs": jobs });
        match self.send(Method::POST, "/jobs", Some(&body)).await? {
            (StatusCode::CREATED | StatusCode::OK, _) => Ok(Submitted::Accepted),
            (status @ (StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS), _) => {
                bail!("{status}")
            }
            (status, answer) if status.is_client_error() => {
                Ok(Submitted::Refused(format!("{status}: {answer}")))
            }
            (status, answer) => bail!("{status}: {answer}"),
        }
    }

    /// Cancels a job. An error means that nobody knows whether it is.
    pub async fn cancel(&self, job: Uuid) -> Result<Cancelled> {
        match self.send(Method::POST, &format!("/jobs/{job}/cancel"), None).await? {
            (StatusCode::OK, _) => Ok(Cancelled::AtOnce),
            (StatusCode::ACCEPTED, _) => Ok(Cancelled::Requested),
            (StatusCode::CONFLICT, _) => Ok(Cancelled::TooLate),
            (status, answer) => bail!("{status}: {answer}"),
        }
    }

    /// Reads a resource; `None` when there is no such one.
    pub async fn get(&self, path: &str) -> Result<Option<Value>> {
        match self.send(Method::GET, path, None).await? {
            (StatusCode::OK, answer) => Ok(Some(answer)),
            (StatusCode::NOT_FOUND, _) => Ok(None),
            (status, answer) => bail!("{path}: {status}: {answer}"),
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value)> {
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await.context("no answer")?;
        let status = answer.status();
        let text = answer.text().await.context("half an answer")?;
        Ok((status, serde_json::from_str(&text).unwrap_or(Value::String(text))))
    }
}

/// What a submission came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// Every job is accepted, now or before.
    Accepted,
    /// None is, and none will be.
    Refused(String),
}
