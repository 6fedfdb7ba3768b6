//! The client of the HTTP API.

use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::settings::ClientSettings;
use cofferdam_api::types::ProblemBody;
use cofferdam_core::units::format_duration;
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// How long to try to connect: a server that does not take connections will not in a minute.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How much longer than one request a push may take: the server compiles the module meanwhile.
const PUSH_FACTOR: u32 = 10;
/// The path of the API.
const PREFIX: [&str; 2] = ["api", "v1"];

/// Talks to one server.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: Url,
    token: Option<String>,
    timeout: Duration,
}

impl Client {
    /// A client of the server that the settings name. Nothing is sent yet.
    pub(crate) fn new(settings: &ClientSettings) -> Result<Self> {
        let base = base(&settings.server)?;
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("cofferdam/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT);
        if is_loopback(&base) {
            // A proxy cannot know what this machine calls itself.
            builder = builder.no_proxy();
        }
        let http = builder
            .build()
            .map_err(|error| CommandError::failed("cannot set up HTTP").caused_by(&error))?;
        Ok(Self { http, base, token: settings.token.clone(), timeout: settings.timeout })
    }

    /// Reads a resource.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &(impl Serialize + Sync + ?Sized),
    ) -> Result<T> {
        let request = self.request(Method::GET, path)?.query(query);
        self.json(self.send(request).await?).await
    }

    /// Reads a resource that answers after up to `within`.
    pub(crate) async fn get_slow<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &(impl Serialize + Sync + ?Sized),
        within: Duration,
    ) -> Result<T> {
        let request = self.request(Method::GET, path)?.query(query).timeout(self.timeout + within);
        self.json(self.send(request).await?).await
    }

    /// Reads bytes.
    pub(crate) async fn bytes(&self, path: &[&str]) -> Result<Vec<u8>> {
        let response = self.send(self.request(Method::GET, path)?).await?;
        let bytes = response.bytes().await.map_err(|error| self.unreachable(&error))?;
        Ok(bytes.to_vec())
    }

    /// Sends a body and reads the answer.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &(impl Serialize + Sync + ?Sized),
    ) -> Result<T> {
        let request = self.request(Method::POST, path)?.json(body);
        self.json(self.send(request).await?).await
    }

    /// Sends bytes as they are and reads the answer.
    pub(crate) async fn send_bytes<T: DeserializeOwned>(
        &self,
        path: &[&str],
        bytes: Vec<u8>,
    ) -> Result<T> {
        let request = self.request(Method::POST, path)?.body(bytes);
        self.json(self.send(request).await?).await
    }

    /// Puts bytes as they are where a path leads. Whether there was nothing before.
    pub(crate) async fn put_bytes(&self, path: &[&str], bytes: Vec<u8>) -> Result<bool> {
        let request = self.request(Method::PUT, path)?.body(bytes);
        Ok(self.send(request).await?.status() == StatusCode::CREATED)
    }

    /// Asks for something to be done that needs no body.
    pub(crate) async fn act<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T> {
        self.json(self.send(self.request(Method::POST, path)?).await?).await
    }

    /// Sends a form whose answer may take as long as a compilation.
    pub(crate) async fn upload<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &(impl Serialize + Sync + ?Sized),
        form: reqwest::multipart::Form,
    ) -> Result<T> {
        let request = self.request(Method::POST, path)?.query(query).multipart(form);
        self.json(self.send(request.timeout(self.timeout * PUSH_FACTOR)).await?).await
    }

    /// Deletes a resource.
    pub(crate) async fn delete(&self, path: &[&str]) -> Result<()> {
        self.send(self.request(Method::DELETE, path)?).await.map(drop)
    }

    fn request(&self, method: Method, path: &[&str]) -> Result<RequestBuilder> {
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| not_a_url(self.base.as_str()))?
            .pop_if_empty()
            .extend(PREFIX)
            .extend(path);
        let mut request = self.http.request(method, url).timeout(self.timeout);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        Ok(request)
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response> {
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = response.bytes().await.map_err(|error| self.unreachable(&error))?;
        Err(match serde_json::from_slice::<ProblemBody>(&body) {
            Ok(problem) => refused(status, problem),
            Err(_) => self.foreign(&format!("it answered {status} without saying why")),
        })
    }

    async fn json<T: DeserializeOwned>(&self, response: Response) -> Result<T> {
        let body = response.bytes().await.map_err(|error| self.unreachable(&error))?;
        serde_json::from_slice(&body)
            .map_err(|error| self.foreign(&format!("its answer is not understood: {error}")))
    }

    fn unreachable(&self, error: &reqwest::Error) -> CommandError {
        let server = self.server();
        if error.is_timeout() && !error.is_connect() {
            let message = format!(
                "the server at {server} did not answer within {}",
                format_duration(self.timeout)
            );
            return CommandError::new(Exit::Unreachable, message)
                .hint("COFFERDAM_REQUEST_TIMEOUT sets how long to wait for an answer");
        }
        let mut root: &dyn std::error::Error = error;
        while let Some(source) = root.source() {
            root = source;
        }
        CommandError::new(Exit::Unreachable, format!("cannot reach the server at {server}"))
            .cause(root.to_string())
            .hint(
                "start one with `cofferdam dev`, or name another with --server or COFFERDAM_SERVER",
            )
    }

    /// The server's URL as people write it.
    fn server(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    fn foreign(&self, cause: &str) -> CommandError {
        CommandError::new(
            Exit::Unreachable,
            format!("what listens at {} is not a Cofferdam server of this version", self.server()),
        )
        .cause(cause)
        .hint("check --server and COFFERDAM_SERVER")
    }
}

/// What the server refused, in our words.
fn refused(status: StatusCode, problem: ProblemBody) -> CommandError {
    let exit = match status {
        StatusCode::UNAUTHORIZED
        | StatusCode::FORBIDDEN
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => Exit::Unreachable,
        _ => Exit::Failed,
    };
    let mut error = CommandError::new(exit, problem.detail);
    if status == StatusCode::UNAUTHORIZED {
        // The server speaks of HTTP; who sits here sets a variable.
        error = error.hint("set COFFERDAM_TOKEN to the token that the server was started with");
    } else {
        error.hints.extend(problem.hint);
        if let Some(field) = problem.field.filter(|field| !says(&error.message, field)) {
            error = error.hint(format!("it is about the field `{field}` of the request"));
        }
    }
    error.code = Some(problem.code);
    // Only an operator who looks into the server's log can do something with the id.
    error.request_id = status.is_server_error().then_some(problem.request_id);
    error
}

/// Whether a message speaks of a field already.
fn says(message: &str, field: &str) -> bool {
    let name = field.rsplit('.').next().unwrap_or(field);
    message.contains(name)
}

/// The URL that everything is relative to.
fn base(text: &str) -> Result<Url> {
    let url: Url = text.parse().map_err(|_| not_a_url(text))?;
    let web = matches!(url.scheme(), "http" | "https");
    if !web || url.cannot_be_a_base() { Err(not_a_url(text)) } else { Ok(url) }
}

fn not_a_url(text: &str) -> CommandError {
    CommandError::usage(format!("`{text}` is not the URL of a server"))
        .hint("write it like http://127.0.0.1:7070")
}

fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_servers_are_servers() {
        assert!(base("http://127.0.0.1:7070").is_ok());
        for other in ["127.0.0.1:7070", "ftp://a", "", "mailto:a@b"] {
            assert_eq!(base(other).unwrap_err().exit, Exit::Usage, "{other}");
        }
    }

    #[test]
    fn a_field_is_named_where_the_message_does_not() {
        let problem = |detail: &str, field: &str| ProblemBody {
            kind: "about:blank".to_owned(),
            title: String::new(),
            status: 422,
            code: "bad-field".to_owned(),
            detail: detail.to_owned(),
            hint: None,
            request_id: "1".to_owned(),
            field: Some(field.to_owned()),
        };
        let hints = |detail: &str, field: &str| {
            let error = refused(StatusCode::UNPROCESSABLE_ENTITY, problem(detail, field));
            assert!(error.causes.is_empty(), "{error:?}");
            error.into_shown().hints
        };
        assert_eq!(hints("there is no module `a`", "module"), [""; 0]);
        assert_eq!(hints("unknown field `fule`", "manifest.limits.fule"), [""; 0]);
        let named = hints("invalid type: string, expected u32", "jobs[1].priority");
        assert_eq!(named, ["it is about the field `jobs[1].priority` of the request"]);
    }

    #[test]
    fn loopback_in_every_spelling() {
        for (url, loopback) in [
            ("http://localhost:1", true),
            ("http://127.0.0.1:1", true),
            ("http://[::1]:1", true),
            ("https://jobs.example.com", false),
        ] {
            assert_eq!(is_loopback(&base(url).unwrap()), loopback, "{url}");
        }
    }
}
