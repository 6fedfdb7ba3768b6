//! Secrets: what can be done with them, and that nobody is ever shown a value.

use crate::server::{Api, Reply, request};
use axum::body::Body;
use axum::http::{Method, header};
use cofferdam_api::types::{Page, SecretView};
use cofferdam_core::ids::TenantId;
use cofferdam_core::secret::{MAX_SECRET, SecretName};
use std::io;
use std::sync::{Arc, Mutex};

const PATH: &str = "/api/v1/secrets/API_KEY";

/// A value that is found wherever it gets to.
const VALUE: &str = "correct1horse2battery3staple";

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

async fn listed(api: &Api) -> Vec<SecretView> {
    let page: Page<SecretView> = api.get("/api/v1/secrets").await.json();
    assert_eq!(page.next, None);
    page.items
}

/// What an attempt would be given.
async fn opened(api: &Api) -> Option<String> {
    let name = SecretName::new("API_KEY").unwrap();
    let opened = api.platform.secrets.for_attempt(TenantId::DEFAULT, &[name]).await.unwrap();
    opened.into_values().next().map(|value| value.unwrap().expose().to_owned())
}

#[tokio::test]
async fn a_secret_is_set_replaced_listed_and_deleted() {
    let api = Api::start().await;
    assert_eq!(listed(&api).await, []);

    // when it is set, then there is one, and the value is what was sent, byte by byte
    let reply = api.put(PATH, "first\n").await;
    assert_eq!((reply.status.as_u16(), reply.body.len()), (201, 0));
    assert_eq!(opened(&api).await.as_deref(), Some("first\n"));
    let before = listed(&api).await;
    assert_eq!(before.len(), 1);
    assert_eq!(before[0].name.as_str(), "API_KEY");

    // when it is set again, then it is another one of the same name
    let reply = api.put(PATH, "second").await;
    assert_eq!((reply.status.as_u16(), reply.body.len()), (204, 0));
    assert_eq!(opened(&api).await.as_deref(), Some("second"));
    let after = listed(&api).await;
    assert_eq!(after.len(), 1);
    assert_eq!(after[0].created_at, before[0].created_at);
    assert!(after[0].updated_at > before[0].updated_at);

    // when it is deleted, then it is gone
    assert_eq!(api.delete(PATH).await.status.as_u16(), 204);
    assert_eq!((listed(&api).await, opened(&api).await), (Vec::new(), None));
    let problem = api.delete(PATH).await.problem(404, "no-such-secret");
    assert!(problem.hint.unwrap().contains("secret list"));
}

#[tokio::test]
async fn values_that_cannot_be_kept_are_refused() {
    let api = Api::start().await;
    api.put(PATH, "").await.problem(422, "empty-secret");
    let problem = api.put(PATH, vec![0xff_u8]).await.problem(422, "secret-not-text");
    assert!(problem.hint.unwrap().contains("Base64"));
    // one that is too large is refused, announced or not
    let long = vec![b'x'; MAX_SECRET + 1];
    api.put(PATH, long.clone()).await.problem(413, "body-too-large");
    let mut unannounced = request(Method::PUT, PATH, Body::from(long));
    unannounced.headers_mut().remove(header::CONTENT_LENGTH);
    api.send(unannounced).await.problem(413, "body-too-large");
    // names that are none are not repeated whole: they may be values
    for name in ["2FA", "A-B", "%00", "A%2FB", VALUE] {
        let name = format!("{name}!");
        for reply in [
            api.put(&format!("/api/v1/secrets/{name}"), "value").await,
            api.delete(&format!("/api/v1/secrets/{name}")).await,
        ] {
            let problem = reply.problem(400, "bad-name");
            assert_eq!(problem.field.as_deref(), Some("name"));
            assert!(!problem.detail.contains(VALUE), "{}", problem.detail);
        }
    }
    assert_eq!(listed(&api).await, []);
    // and the largest is kept
    assert_eq!(api.put(PATH, vec![b'x'; MAX_SECRET]).await.status.as_u16(), 201);
    assert_eq!(opened(&api).await.map(|value| value.len()), Some(MAX_SECRET));
}

#[tokio::test]
async fn a_server_without_a_key_says_what_it_lacks() {
    // given a secret, and a server without a key
    let api = Api::without_key().await;
    let name = SecretName::new("API_KEY").unwrap();
    let set = api.platform.secrets.set(TenantId::DEFAULT, &name, VALUE.into()).await;
    assert!(set.unwrap());
    // when one is set, then it is said how to mend that
    let problem = api.put(PATH, VALUE).await.problem(409, "no-key");
    assert!(problem.hint.unwrap().contains("COFFERDAM_KEY"));
    // and the rest needs no key
    assert_eq!(listed(&api).await.len(), 1);
    assert_eq!(api.delete(PATH).await.status.as_u16(), 204);
}

/// Whatever is done with a secret, its value comes back in no answer, and is in no log.
#[tokio::test]
async fn a_value_is_in_no_answer_and_in_no_log() {
    // given everything that the server logs
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _logged = tracing::subscriber::set_default(subscriber);
    let (api, keyless) = (Api::start().await, Api::without_key().await);

    // when secrets are set, listed and deleted, well and badly
    let mut replies: Vec<Reply> = Vec::new();
    for _ in 0..2 {
        replies.push(api.put(PATH, VALUE).await);
    }
    let padded = VALUE.repeat(MAX_SECRET / VALUE.len() + 1);
    let binary = [VALUE.as_bytes(), &[0xff]].concat();
    replies.push(api.put(PATH, padded).await);
    replies.push(api.put(PATH, binary).await);
    replies.push(keyless.put(PATH, VALUE).await);
    replies.push(api.post(PATH, VALUE).await);
    replies.push(api.put(&format!("/api/v1/secrets/{VALUE}!"), VALUE).await);
    replies.push(api.get("/api/v1/secrets").await);
    replies.push(api.get(PATH).await);
    replies.push(api.delete(PATH).await);

    // then no answer has the value
    let statuses: Vec<_> = replies.iter().map(|reply| reply.status.as_u16()).collect();
    assert_eq!(statuses, [201, 204, 413, 422, 409, 405, 400, 200, 405, 204]);
    for reply in &replies {
        let shown = format!("{:?} {}", reply.headers, String::from_utf8_lossy(&reply.body));
        assert!(!shown.contains(VALUE), "{shown}");
    }
    // and neither has the log, which tells of each request, nor the database
    let text = log.text();
    assert!(text.matches("/api/v1/secrets/{name}").count() >= 9, "{text}");
    assert!(!text.contains(VALUE), "{text}");
    assert_eq!(api.platform.db.tables_with(VALUE).await, [""; 0]);
}
