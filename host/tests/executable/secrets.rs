//! Secrets through the executable, and the key that seals them.

use crate::support::{Client, KEY, Process, bare, finish, quick, server};
use cofferdam_testkit::TestDb;
use serde_json::json;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// A value that is found wherever it gets to.
const VALUE: &str = "correct1horse2battery3staple";

/// `dev` on a database of the test, with a data folder of its own and everything that it says in a
/// file.
fn dev(database_url: &str, folder: &Path) -> Process {
    let log = File::options().create(true).append(true).open(folder.join("log")).unwrap();
    let mut command = bare();
    command.args(["dev", "--listen", "127.0.0.1:0", "--slots", "2"]);
    command.args(["--database-url", database_url]);
    command.env("COFFERDAM_DATA_DIR", folder.join("data")).env("COFFERDAM_LOG", "debug");
    quick(&mut command);
    Process::start(command.stderr(log))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_secret_is_set_listed_and_deleted_and_its_value_shown_nowhere() {
    // Given a platform for development, which was given no key
    let db = TestDb::new().await;
    let folder = tempfile::tempdir().unwrap();
    let mut process = dev(&db.url(), folder.path());
    let client = &Client::new(process.url());
    let mut said = Vec::new();

    // When a secret is set twice, with a line break at its end and without
    let set = client.pipe("secret set API_KEY", format!("{VALUE}\n").as_bytes()).exits(0);
    assert_eq!(set.text(), "API_KEY created");
    said.push(set);
    let set = client.pipe("secret set API_KEY --json", VALUE.as_bytes()).exits(0);
    assert_eq!(set.json(), json!({ "name": "API_KEY", "created": false }));
    said.push(set);
    client.pipe("secrets set OTHER", b"other").exits(0);

    // Then its name is listed, and its value is in no row of the database
    let listed = client.run("secret list --json").exits(0);
    let names: Vec<_> =
        listed.json().as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    assert_eq!(names, ["API_KEY", "OTHER"]);
    said.extend([listed, client.run("secret list").exits(0)]);
    assert_eq!(db.tables_with("OTHER").await, ["secrets"]);
    assert_eq!(db.tables_with(VALUE).await, [""; 0]);

    // When the platform stops and comes back, then it has the key that it had
    let key = folder.path().join("data/installation.key");
    assert_eq!(mode(&key), 0o600);
    let before = fs::read_to_string(&key).unwrap();
    assert_eq!(process.stop(), Some(0));
    let mut process = dev(&db.url(), folder.path());
    let client = &Client::new(process.url());
    assert_eq!(fs::read_to_string(&key).unwrap(), before);
    let set = client.pipe("secret set API_KEY", VALUE.as_bytes()).exits(0);
    assert_eq!(set.text(), "API_KEY replaced");
    said.push(set);

    // When it is deleted, then it is gone
    let deleted = client.run("secret delete API_KEY").exits(0);
    assert_eq!(deleted.text(), "API_KEY deleted");
    said.push(deleted);
    let gone = client.run("secret delete API_KEY").exits(1);
    said.push(gone.complains(&["there is no secret `API_KEY`", "hint:", "secret list"]));
    let left = client.run("secret list --json").exits(0).json();
    assert_eq!(left.as_array().unwrap().len(), 1);

    // Then nobody has said the value or the key, neither the commands nor the platform
    assert_eq!(process.stop(), Some(0));
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    let said: Vec<_> = said.iter().map(ToString::to_string).chain([log]).collect();
    for text in &said {
        assert!(!text.contains(VALUE) && !text.contains(before.trim()), "{text}");
    }
}

#[tokio::test]
async fn values_that_cannot_be_kept_are_refused() {
    let db = TestDb::new().await;
    let process = crate::support::dev(&db.url());
    let client = &Client::new(process.url());

    client.run("secret set API_KEY").exits(1).complains(&["the secret is empty", "hint:"]);
    client.pipe("secret set API_KEY", b"\n").exits(1).complains(&["the secret is empty", "hint:"]);
    client.pipe("secret set API_KEY", b"\xff").exits(1).complains(&["not UTF-8", "Base64"]);
    let large = vec![b'x'; (64 << 10) + 2];
    client.pipe("secret set API_KEY", &large).exits(1).complains(&["64KiB", "hint:"]);
    // A value that is an argument is refused, and not repeated
    let pair = format!("API_KEY={VALUE}");
    for args in [&["API_KEY", VALUE][..], &[pair.as_str()], &["API_KEY", "--", VALUE]] {
        let said = client.run_args(&[&["secret", "set"], args].concat()).exits(2);
        assert!(!said.to_string().contains(VALUE), "{said}");
        said.complains(&["standard input", "hint:"]);
    }
    assert_eq!(client.run("secret list --json").exits(0).json(), json!([]));
    // And the largest is kept
    client.pipe("secret set API_KEY", &vec![b'x'; 64 << 10]).exits(0);
}

#[tokio::test]
async fn a_server_without_a_key_says_how_to_give_it_one() {
    let db = TestDb::new().await;
    let server = server(&db.url());
    let client = &Client::new(server.url());
    client.pipe("secret set API_KEY", VALUE.as_bytes()).exits(1).complains(&[
        "there is no key to seal secrets with",
        "COFFERDAM_KEY or COFFERDAM_KEY_FILE",
    ]);
    client.run("secret list").exits(0);
}

#[test]
fn keys_that_cannot_be_used_are_refused_and_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    fs::write(&file, KEY).unwrap();
    let path = file.to_str().unwrap();
    let server = |variables: &[(&str, &str)]| {
        let mut command = bare();
        command.args(["server", "--database-url", "postgres://nowhere"]);
        finish(command.envs(variables.iter().copied()))
    };
    let doctor = |variables: &[(&str, &str)]| {
        let said = finish(bare().args(["doctor", "--json"]).envs(variables.iter().copied()));
        assert!(!said.to_string().contains(KEY), "{said}");
        let findings = said.json();
        let checks = findings["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == "key").unwrap().clone()
    };

    // A file that others can read
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    server(&[("COFFERDAM_KEY_FILE", path)]).exits(2).complains(&[
        "is not private",
        "its mode is 644",
        &format!("chmod 600 {path}"),
    ]);
    assert_eq!(doctor(&[("COFFERDAM_KEY_FILE", path)])["status"], "fail");
    // What is no key, and two of them
    let long = format!("{KEY}7");
    let said = server(&[("COFFERDAM_KEY", &long)]).exits(2);
    assert!(!said.to_string().contains(KEY), "{said}");
    said.complains(&[
        "COFFERDAM_KEY is not usable",
        "32 bytes in hexadecimal digits",
        "openssl rand",
    ]);
    server(&[("COFFERDAM_KEY", KEY), ("COFFERDAM_KEY_FILE", path)])
        .exits(2)
        .complains(&["are both set", "hint:"]);

    // And those that can be used are said to be there
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(doctor(&[("COFFERDAM_KEY_FILE", path)])["status"], "ok");
    assert_eq!(doctor(&[("COFFERDAM_KEY", KEY)])["status"], "ok");
    assert_eq!(doctor(&[])["status"], "skip");
}
