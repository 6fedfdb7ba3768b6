//! Uploads over a real connection: whole, too large, cut off, and of things that are no component.

use crate::server::{self, Server};
use cofferdam_api::types::{ModuleVersion, ProblemBody};
use cofferdam_testkit::component;
use cofferdam_testkit::platform::BOUND;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

const BOUNDARY: &str = "cut-here";

/// The multipart body of an upload.
fn form(manifest: Option<&str>, component: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    let mut part = |name: &str, media_type: &str, content: &[u8]| {
        let head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\
             Content-Type: {media_type}\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    };
    if let Some(manifest) = manifest {
        part("manifest", "application/json", manifest.as_bytes());
    }
    part("component", "application/wasm", component);
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    body
}

fn head(query: &str, length: usize) -> String {
    format!(
        "POST /api/v1/modules?{query} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: multipart/form-data; boundary={BOUNDARY}\r\nContent-Length: {length}\r\n\r\n"
    )
}

/// The answer on a connection, as JSON.
async fn answer<T: DeserializeOwned>(connection: TcpStream) -> (u16, T) {
    let (status, body) = server::answer(connection).await;
    let body = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"));
    (status, body)
}

async fn upload<T: DeserializeOwned>(server: &Server, query: &str, body: &[u8]) -> (u16, T) {
    let mut connection = TcpStream::connect(server.address).await.expect("the server listens");
    connection.write_all(head(query, body.len()).as_bytes()).await.expect("it reads");
    connection.write_all(body).await.expect("it reads on");
    answer(connection).await
}

async fn assert_nothing_stored(server: &Server) {
    let (status, page): (u16, serde_json::Value) =
        answer(server.get("/api/v1/modules").await).await;
    assert_eq!((status, &page["items"]), (200, &serde_json::json!([])));
}

#[tokio::test]
async fn a_component_is_published_once() {
    let server = Server::start().await;
    let manifest = r#"{"module": {"name": "tricks"}, "kinds": {"spin": {"queue": "slow"}}}"#;
    let body = form(Some(manifest), &component("misbehave"));
    // when a component is uploaded
    let (status, version): (u16, ModuleVersion) = upload(&server, "version=1.0", &body).await;
    // then it is a version with the kinds that it describes and the options of its manifest
    assert_eq!(status, 201);
    assert_eq!((version.module.as_str(), version.version.as_str()), ("tricks", "1.0"));
    assert!(version.created && version.active);
    let spin = version.kinds.iter().find(|kind| kind.name.as_str() == "spin").unwrap();
    assert_eq!(spin.queue.as_ref().unwrap().as_str(), "slow");
    // and uploading it again changes nothing
    let (status, again): (u16, ModuleVersion) = upload(&server, "version=1.0", &body).await;
    assert_eq!((status, again.created, again.digest), (200, false, version.digest));
    // but another component under the same name is refused
    let other = form(Some(r#"{"module": {"name": "tricks"}}"#), &component("wordcount"));
    let (status, problem): (u16, ProblemBody) = upload(&server, "version=1.0", &other).await;
    assert_eq!((status, problem.code.as_str()), (409, "version-conflict"));
    assert!(problem.hint.is_some());
}

#[tokio::test]
async fn an_upload_of_100_mib_is_refused_and_the_client_learns_why() {
    let server = Server::start().await;
    // given a component of 100 MiB
    let body = form(None, &vec![0; 100 << 20]);
    // when it is uploaded by a client that writes all before it reads
    let (status, problem): (u16, ProblemBody) = upload(&server, "name=big", &body).await;
    // then the client gets to see the problem
    assert_eq!((status, problem.code.as_str()), (413, "component-too-large"));
    assert!(problem.hint.is_some());
    assert_nothing_stored(&server).await;
}

#[tokio::test]
async fn a_client_that_asks_first_need_not_send_what_is_refused() {
    let server = Server::start().await;
    let mut connection = TcpStream::connect(server.address).await.unwrap();
    // given a client that announces 100 MiB and waits for leave to send them
    let head = head("name=big", 100 << 20).replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n");
    connection.write_all(head.as_bytes()).await.unwrap();
    // then the answer comes without them
    let (status, problem): (u16, ProblemBody) = answer(connection).await;
    assert_eq!((status, problem.code.as_str()), (413, "component-too-large"));
}

#[tokio::test]
async fn an_upload_of_unknown_length_is_stopped_at_the_limit() {
    let server = Server::start().await;
    let mut connection = TcpStream::connect(server.address).await.unwrap();
    // given an upload in chunks that does not say how long it is
    let head = format!(
        "POST /api/v1/modules?name=big HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n\
         Transfer-Encoding: chunked\r\n\r\n"
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    let body = form(None, &vec![0; 70 << 20]);
    for chunk in body.chunks(1 << 20) {
        connection.write_all(format!("{:x}\r\n", chunk.len()).as_bytes()).await.unwrap();
        connection.write_all(chunk).await.unwrap();
        connection.write_all(b"\r\n").await.unwrap();
    }
    connection.write_all(b"0\r\n\r\n").await.unwrap();
    // then it is refused
    let (status, problem): (u16, ProblemBody) = answer(connection).await;
    assert_eq!((status, problem.code.as_str()), (413, "component-too-large"));
    assert_nothing_stored(&server).await;
}

#[tokio::test]
async fn an_upload_that_is_cut_off_stores_nothing() {
    let server = Server::start().await;
    let body = form(None, &component("wordcount"));
    // given an upload that says it is whole but lacks its end
    let short = &body[..body.len() / 2];
    let (status, problem): (u16, ProblemBody) = upload(&server, "name=cut", short).await;
    // then the client is told
    assert_eq!((status, problem.code.as_str()), (400, "upload-truncated"));
    // given a connection that ends in the middle
    let mut connection = TcpStream::connect(server.address).await.unwrap();
    connection.write_all(head("name=cut", body.len()).as_bytes()).await.unwrap();
    connection.write_all(short).await.unwrap();
    connection.shutdown().await.unwrap();
    let mut rest = Vec::new();
    timeout(BOUND, connection.read_to_end(&mut rest)).await.expect("the server lets go").ok();
    // then nothing is stored either
    assert_nothing_stored(&server).await;
}

#[tokio::test]
async fn what_is_no_component_is_refused_in_words() {
    let server = Server::start().await;
    // given a component that wants the network
    let network =
        wat::parse_str(r#"(component (import "wasi:sockets/network@0.2.0" (instance)))"#).unwrap();
    for (content, code, word) in [
        (&b""[..], "empty-component", "empty"),
        (b"#!/bin/sh", "not-wasm", "not a WebAssembly component"),
        (b"\0asm\x01\0\0\0", "core-module", "core module"),
        (b"\0asm\x0d\0\x01\0", "wrong-world", "cofferdam:job/handler"),
        (&network, "unknown-import", "wasi:sockets/network@0.2.0"),
        (b"\0asm\x0d\0\x01\0\xff\xff\xff", "malformed-component", "malformed: "),
    ] {
        let body = form(None, content);
        let (status, problem): (u16, ProblemBody) = upload(&server, "name=bad", &body).await;
        assert_eq!((status, problem.code.as_str()), (422, code), "{problem:?}");
        assert!(problem.detail.contains(word) && problem.hint.is_some(), "{problem:?}");
    }
    // and one that was cut off, of which the reason says where
    let whole = component("markdown");
    let body = form(None, &whole[..whole.len() / 2]);
    let (status, problem): (u16, ProblemBody) = upload(&server, "name=bad", &body).await;
    assert_eq!((status, problem.code.as_str()), (422, "malformed-component"), "{problem:?}");
    assert!(problem.detail.contains("offset"), "{problem:?}");
    assert!(problem.detail.len() <= 1024, "{problem:?}");
    let body = form(None, &component("wordcount"));
    let (status, problem): (u16, ProblemBody) = upload(&server, "", &body).await;
    assert_eq!((status, problem.code.as_str()), (422, "no-module-name"));
    let body = form(Some(r#"{"limits": {"fule": 1}}"#), &component("wordcount"));
    let (status, problem): (u16, ProblemBody) = upload(&server, "name=bad", &body).await;
    assert_eq!((status, problem.code.as_str()), (422, "bad-field"));
    assert_eq!(problem.field.as_deref(), Some("manifest.limits.fule"));
    assert_nothing_stored(&server).await;
}
