//! A server under test, and answers that can be looked at.

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use cofferdam_api::types::{Info, ProblemBody};
use cofferdam_api::{App, ServeError, router};
use cofferdam_runner::Secrets;
use cofferdam_testkit::Platform;
use cofferdam_testkit::platform::BOUND;
use http_body_util::BodyExt as _;
use serde::de::DeserializeOwned;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tower::ServiceExt as _;

/// The API of a platform, called without a network.
pub(crate) struct Api {
    pub(crate) platform: Platform,
    router: Router,
}

/// An answer, whole.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Api {
    /// An API without a token and without workers.
    pub(crate) async fn start() -> Self {
        let platform = Platform::start().await;
        let router = router(app(&platform, None));
        Self { platform, router }
    }

    /// An API that demands a token.
    pub(crate) async fn with_token(token: &str) -> Self {
        let platform = Platform::start().await;
        let router = router(app(&platform, Some(token.to_owned())));
        Self { platform, router }
    }

    /// An API of a server that was given no key.
    pub(crate) async fn without_key() -> Self {
        let platform = Platform::start().await;
        let secrets = Secrets::new(platform.store.clone(), None);
        let router = router(App { secrets, ..app(&platform, None) });
        Self { platform, router }
    }

    /// Sends any request.
    pub(crate) async fn send(&self, request: Request<Body>) -> Reply {
        let response = self.router.clone().oneshot(request).await.expect("infallible");
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("the body is whole").to_bytes().to_vec();
        Reply { status: parts.status, headers: parts.headers, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(request(Method::GET, path, Body::empty())).await
    }

    /// Posts JSON.
    pub(crate) async fn post(&self, path: &str, json: impl Into<Body>) -> Reply {
        self.send(request(Method::POST, path, json.into())).await
    }

    /// Puts bytes.
    pub(crate) async fn put(&self, path: &str, bytes: impl Into<Body>) -> Reply {
        self.send(request(Method::PUT, path, bytes.into())).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.send(request(Method::DELETE, path, Body::empty())).await
    }

    /// Submits one job and returns its id.
    pub(crate) async fn submit(&self, json: &str) -> String {
        let reply = self.post("/api/v1/jobs", json.to_owned()).await;
        assert_eq!(reply.status, StatusCode::CREATED, "{reply:?}");
        reply.json::<serde_json::Value>()["jobs"][0]["id"].as_str().expect("an id").to_owned()
    }

    /// Whether the API still works after what was done to it.
    pub(crate) async fn assert_alive(&self) {
        assert_eq!(self.get("/readyz").await.status, StatusCode::OK);
    }
}

impl Reply {
    pub(crate) fn json<T: DeserializeOwned>(&self) -> T {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The problem that the answer is, checked for what every problem has.
    pub(crate) fn problem(&self, status: u16, code: &str) -> ProblemBody {
        let problem: ProblemBody = self.json();
        assert_eq!((self.status.as_u16(), problem.code.as_str()), (status, code), "{problem:?}");
        assert_eq!(problem.status, status);
        assert_eq!(self.headers[header::CONTENT_TYPE], "application/problem+json");
        assert_eq!(self.headers["x-request-id"].to_str().unwrap(), problem.request_id);
        problem
    }
}

/// A request as a client would send it.
pub(crate) fn request(method: Method, path: &str, body: Body) -> Request<Body> {
    Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, "localhost")
        .header(header::CONTENT_TYPE, "application/json")
        .body(body)
        .expect("a valid request")
}

/// A server on a port of its own, which stops when this is dropped.
pub(crate) struct Server {
    pub(crate) platform: Platform,
    pub(crate) address: SocketAddr,
    stop: DropGuard,
    served: JoinHandle<Result<(), ServeError>>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let platform = Platform::start().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let stop = CancellationToken::new();
        let served =
            tokio::spawn(cofferdam_api::serve(listener, app(&platform, None), stop.clone()));
        Self { platform, address, stop: stop.drop_guard(), served }
    }

    /// Opens a connection and sends a request on it.
    pub(crate) async fn get(&self, path: &str) -> TcpStream {
        let mut connection = TcpStream::connect(self.address).await.expect("the server listens");
        let call = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        connection.write_all(call.as_bytes()).await.expect("the server reads");
        connection
    }

    /// Tells the server to stop and waits until it has.
    pub(crate) async fn stop(self) -> Result<(), ServeError> {
        drop(self.stop);
        timeout(BOUND, self.served).await.expect("the server stops").expect("no panic")
    }
}

/// The status and the body of the answer on a connection that the server closes after it.
pub(crate) async fn answer(mut connection: TcpStream) -> (u16, String) {
    let mut bytes = Vec::new();
    timeout(BOUND, connection.read_to_end(&mut bytes)).await.expect("in time").expect("an answer");
    let text = String::from_utf8(bytes).expect("text");
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text}"));
    let status = head.split(' ').nth(1).expect("a status").parse().expect("a number");
    (status, body.to_owned())
}

/// What a server is made of.
pub(crate) fn app(platform: &Platform, token: Option<String>) -> App {
    App {
        store: platform.store.clone(),
        publisher: platform.publisher.clone(),
        submitter: platform.submitter.clone(),
        secrets: platform.secrets.clone(),
        token,
        info: Info {
            version: "0.0.0".to_owned(),
            wit_version: "0.1.0".to_owned(),
            schema: "cofferdam".to_owned(),
            schema_version: 1,
            listen: "127.0.0.1:0".to_owned(),
        },
    }
}
