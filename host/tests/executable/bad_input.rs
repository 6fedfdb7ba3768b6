//! What a server must refuse: clearly, with a hint, with nothing stored and the process alive.

use crate::support::{Client, dev};
use cofferdam_testkit::TestDb;

#[tokio::test]
async fn every_refusal_says_why_and_leaves_nothing_behind() {
    let db = TestDb::new().await;
    let mut process = dev(&db.url());
    let client = &Client::new(process.url());
    let folder = tempfile::tempdir().unwrap();
    client.push(folder.path(), "misbehave");
    let push = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        client.run_args(&["module", "push", path.to_str().unwrap(), "--name", "bad"])
    };

    // Files that are no modules, and modules that cannot be jobs
    let component = cofferdam_testkit::component("markdown");
    let network = r#"(component (import "wasi:sockets/network@0.2.0" (instance)))"#;
    for (name, bytes, why) in [
        ("text", &b"hello, world"[..], "not a WebAssembly component"),
        ("empty", b"", "the file is empty"),
        ("elf", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0", "not a WebAssembly component"),
        ("core", b"\0asm\x01\0\0\0", "core module"),
        ("cut", &component[..component.len() / 2], "malformed: "),
        ("nothing", b"\0asm\x0d\0\x01\0", "exports neither"),
        ("network", &wat::parse_str(network).unwrap(), "wasi:sockets/network@0.2.0"),
    ] {
        push(name, bytes).exits(1).complains(&["was not pushed", "cause:", why, "hint:"]);
    }
    let large = std::fs::File::create(folder.path().join("large")).unwrap();
    large.set_len(100 << 20).unwrap();
    let path = folder.path().join("large");
    client
        .run_args(&["module", "push", path.to_str().unwrap(), "--name", "bad"])
        .exits(1)
        .complains(&["64MiB"]);

    // Jobs that cannot be
    let submit = |args: &[&str]| client.run_args(&[&["job", "submit"], args].concat());
    submit(&["nobody"]).exits(1).complains(&["there is no module `nobody`", "hint:"]);
    submit(&["misbehave@9/echo"]).exits(1).complains(&["misbehave@9"]);
    submit(&["misbehave/nothing"]).exits(1).complains(&["does not handle `nothing`", "hint:"]);
    submit(&["misbehave"]).exits(1).complains(&["several kinds", "hint:"]);
    submit(&["misbehave/slow", "--input", "{\"ms\": -1}"]).exits(1).complains(&[
        "does not match the schema",
        "/ms",
        "hint:",
    ]);
    submit(&["misbehave/slow"]).exits(1).complains(&["not JSON"]);
    let said = submit(&["misbehave/echo", "--max-attempts", "1000"]).exits(1);
    let said = said.complains(&["max_attempts is 1000"]);
    assert!(!said.stderr.contains("job 0") && !said.stderr.contains("cause:"), "{said}");
    submit(&["misbehave/echo", "--arg", "x"]).exits(1).complains(&["command jobs"]);
    let payload = folder.path().join("payload");
    std::fs::File::create(&payload).unwrap().set_len(64 << 20).unwrap();
    submit(&["misbehave/echo", "--input", &format!("@{}", payload.display())])
        .exits(1)
        .complains(&["8MiB", "hint:"]);

    // Things that are not there
    let nobody = "01970000-0000-7000-8000-000000000000";
    for args in [
        format!("job show {nobody}"),
        format!("job output {nobody}"),
        format!("job logs {nobody}"),
        format!("job cancel {nobody}"),
        format!("job retry {nobody}"),
        format!("dlq show {nobody}"),
        format!("dlq retry {nobody}"),
        "module delete nobody".to_owned(),
        "module activate misbehave@9".to_owned(),
    ] {
        client.run(&args).exits(1);
    }

    // Then nothing of it is stored, and the process is alive and stops well
    assert_eq!(client.run("job list --json").exits(0).json(), serde_json::json!([]));
    let modules = client.run("module list --json").exits(0).json();
    assert_eq!(modules.as_array().unwrap().len(), 1, "{modules}");
    client.run("job submit misbehave/echo --input 1 --wait").exits(0);
    assert_eq!(process.stop(), Some(0));
}

#[tokio::test]
async fn bytes_that_are_no_text_come_back_unchanged() {
    let db = TestDb::new().await;
    let process = dev(&db.url());
    let client = &Client::new(process.url());
    let folder = tempfile::tempdir().unwrap();
    client.push(folder.path(), "misbehave");
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let said = client.pipe("job submit misbehave/echo --input - --wait", &bytes).exits(0);
    assert_eq!(said.stdout, bytes);
}
