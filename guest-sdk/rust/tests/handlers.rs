//! Handlers as their authors write and test them.

#![expect(
    clippy::unnecessary_wraps,
    reason = "a handler returns a result, whether it can fail or not"
)]

use cofferdam_guest::testing::{self, Job};
use cofferdam_guest::{Context, Error, Level, Retry, handler};
use serde::{Deserialize, Serialize};
use std::time::Duration;

const SCHEMA: &str = r#"{"type":"object"}"#;

#[derive(Deserialize)]
struct Page {
    number: u32,
    words: Vec<String>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Place {
    page: u32,
}

/// Counts the words of a page,
/// and keeps its place.
#[handler(
    name = "pages.count",
    deadline = "1m30s",
    memory = "32MiB",
    fuel = 5_000,
    max_attempts = 9,
    schema = SCHEMA
)]
fn count(ctx: &Context, page: &Page) -> Result<usize, Error> {
    ctx.checkpoint_json(&Place { page: page.number })?;
    ctx.log(Level::Debug, "counting", &[("page", &page.number)]);
    ctx.progress(250, "nearly there");
    Ok(page.words.len())
}

#[handler]
fn where_was_i(ctx: &Context) -> Result<Option<Place>, Error> {
    ctx.last_checkpoint_json()
}

#[handler]
fn who_am_i(ctx: &Context, (): ()) -> Result<Vec<String>, Error> {
    let texts = [ctx.id(), ctx.kind(), ctx.queue(), ctx.tenant(), ctx.idempotency_key()];
    Ok(texts.map(str::to_owned).to_vec())
}

#[handler]
fn take_your_time(ctx: &Context) -> Result<u64, Error> {
    let remaining = ctx.extend_deadline(Duration::from_mins(1))?;
    assert_eq!(remaining, ctx.remaining());
    Ok(remaining.as_secs())
}

#[handler]
fn narrow(_: &Context, number: Option<i32>) -> Result<i8, std::num::TryFromIntError> {
    number.unwrap_or_default().try_into()
}

#[test]
fn a_kind_is_described_by_its_attributes_and_its_comment() {
    let kinds = testing::kinds();
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
    assert_eq!(names, ["narrow", "pages.count", "take-your-time", "where-was-i", "who-am-i"]);
    let count = &kinds[1];
    assert_eq!(count.description, "Counts the words of a page,\nand keeps its place.");
    assert_eq!(count.deadline, Some(Duration::from_secs(90)));
    assert_eq!(count.memory_bytes, Some(32 << 20));
    assert_eq!(count.fuel, Some(5_000));
    assert_eq!(count.max_attempts, Some(9));
    assert_eq!(count.input_schema.as_deref(), Some(SCHEMA));
    assert_eq!(kinds[0].deadline, None);
}

#[test]
fn a_run_shows_what_the_handler_asked_of_the_host() {
    let page = Page { number: 7, words: vec!["a".into(), "b".into()] };
    let run = testing::run(count, &page);

    assert_eq!(run.result.unwrap(), 2);
    assert_eq!(run.checkpoints, [br#"{"page":7}"#]);
    assert_eq!(run.progress, [(100, "nearly there".to_owned())]);
    assert_eq!(run.logs[0].level, Level::Debug);
    assert_eq!(run.logs[0].fields, [("page".to_owned(), "7".to_owned())]);
}

#[test]
fn a_dispatched_run_goes_through_bytes() {
    let run = Job::new().dispatch("pages.count", r#"{"number":1,"words":["a"]}"#);
    assert_eq!(run.result.unwrap(), b"1");
    let run = Job::new().dispatch("pages.count", r#"{"number":1,"words":["a",7]}"#);
    let error = run.result.unwrap_err();
    assert_eq!((error.code(), error.advice()), ("bad-input", Retry::Permanent));
    assert!(error.message().contains("field `words[1]`"), "{error}");
}

#[test]
fn the_next_attempt_finds_the_checkpoint() {
    let found = |job: Job| job.run(where_was_i, ()).result;
    assert_eq!(found(Job::new()).unwrap(), None);
    let job = Job::new().attempt(2).last_checkpoint(r#"{"page":7}"#);
    assert_eq!(found(job).unwrap(), Some(Place { page: 7 }));
    let error = found(Job::new().last_checkpoint("page 7")).unwrap_err();
    assert_eq!((error.code(), error.advice()), ("bad-checkpoint", Retry::Permanent));
}

#[test]
fn a_checkpoint_that_is_refused_ends_the_attempt() {
    let job = Job::new().refuse_checkpoints("the lease is lost");
    let error = job.dispatch("pages.count", r#"{"number":1,"words":[]}"#).result.unwrap_err();
    assert_eq!((error.code(), error.message()), ("checkpoint", "the lease is lost"));
}

#[test]
fn the_deadline_moves_up_to_its_cap() {
    let job = Job::new().deadline(Duration::from_mins(1));
    assert_eq!(job.clone().run(take_your_time, ()).result.unwrap(), 120);
    let run = job.deadline_cap(Duration::from_secs(90)).run(take_your_time, ());
    assert_eq!(run.result.unwrap(), 90);
    assert_eq!(run.extensions, [Duration::from_secs(30)]);
}

#[test]
fn a_handler_has_the_secrets_that_the_test_gives_it() {
    let look = |ctx: &Context, name: String| {
        Ok::<_, Error>((ctx.secret(&name)?, ctx.secret_placeholder(&name)?))
    };
    let job = Job::new().with_secret("API_KEY", "hunter2");
    let (value, stands_for_it) = job.clone().run(look, "API_KEY".to_owned()).result.unwrap();
    assert_eq!(value, "hunter2");
    assert_eq!(stands_for_it, testing::placeholder("API_KEY"));
    assert!(!stands_for_it.contains("hunter2"));
    // What the test does not give is refused, and may be there when it is tried again.
    let error = job.run(look, "OTHER".to_owned()).result.unwrap_err();
    assert_eq!((error.code(), error.advice()), ("secret", Retry::Default));
    let only_stands_for_it = |ctx: &Context| ctx.secret_placeholder("OTHER");
    assert_eq!(Job::new().run(only_stands_for_it, ()).result.unwrap_err().code(), "secret");
}

#[test]
fn a_job_is_who_the_test_says() {
    let job = Job::new().id("0199").queue("images").tenant("acme");
    let output = job.dispatch("who-am-i", "ignored").result.unwrap();
    assert_eq!(output, br#"["0199","who-am-i","images","acme","0199"]"#);
}

#[test]
fn an_error_of_another_type_asks_for_a_retry() {
    assert_eq!(Job::new().dispatch("narrow", "").result.unwrap(), b"0");
    let error = Job::new().dispatch("narrow", "1000").result.unwrap_err();
    assert_eq!((error.code(), error.advice()), ("error", Retry::Default));
    assert_eq!(error.message(), "out of range integral type conversion attempted");
}

#[test]
fn the_context_tells_what_is_left_to_try() {
    let look = |ctx: &Context| {
        let extras = (ctx.metadata("colour").map(str::to_owned), ctx.all_metadata().len());
        let flags = (ctx.is_last_attempt(), ctx.cancelled(), ctx.priority());
        Ok::<_, Error>((ctx.attempt(), ctx.max_attempts(), flags, extras))
    };
    let job =
        Job::new().attempt(3).max_attempts(3).priority(1).metadata("colour", "red").cancelled();
    let seen = job.run(look, ()).result.unwrap();
    assert_eq!(seen, (3, 3, (true, true, 1), (Some("red".to_owned()), 1)));
}
