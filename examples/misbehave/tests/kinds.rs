//! The kinds that end by themselves. How the others are ended is the sandbox's to test.

use cofferdam_guest::testing::{self, Job};
use cofferdam_guest::{Resumption, Retry};
use misbehave::echo;
use std::time::Duration;

#[test]
fn every_kind_is_in_the_component_without_a_list_of_them() {
    assert_eq!(testing::run(echo, b"hello".to_vec()).result.unwrap(), b"hello");
    let names: Vec<String> = testing::kinds().into_iter().map(|kind| kind.name).collect();
    assert_eq!(
        names,
        [
            "abort",
            "allocate",
            "await-answer",
            "checkpoint-resume",
            "divide",
            "doze",
            "echo",
            "error",
            "exit",
            "fail-until",
            "flood-log",
            "flood-output",
            "flood-stdout",
            "fuel",
            "ledger",
            "look-around",
            "panic",
            "permanent",
            "recurse",
            "retry-after",
            "sleep",
            "slow",
            "snooze",
            "spin",
            "started-at",
        ]
    );
}

#[test]
fn the_schemas_are_json() {
    let kinds = testing::kinds();
    let schemas: Vec<_> = kinds.iter().filter_map(|kind| kind.input_schema.as_ref()).collect();
    assert_eq!(schemas.len(), 3);
    for schema in schemas {
        serde_json::from_str::<serde_json::Value>(schema).unwrap();
    }
}

#[test]
fn the_errors_ask_for_what_they_are_named_after() {
    let second = Duration::from_secs(1);
    for (kind, code, advice) in [
        ("error", "flaky", Retry::Default),
        ("retry-after", "busy", Retry::After(second)),
        ("permanent", "hopeless", Retry::Permanent),
        ("snooze", "sleepy", Retry::Snooze(second)),
    ] {
        let error = Job::new().dispatch(kind, "").result.unwrap_err();
        assert_eq!((error.code(), error.advice()), (code, advice));
    }
}

#[test]
fn fail_until_fails_until_then() {
    let input = r#"{"attempt":3}"#;
    let attempt = |number| Job::new().attempt(number).dispatch("fail-until", input).result;
    assert_eq!(attempt(1).unwrap_err().message(), "attempt 1 of 2 that fail");
    assert_eq!(attempt(2).unwrap_err().code(), "not-yet");
    assert_eq!(attempt(3).unwrap(), b"3");
}

#[test]
fn a_snoozed_job_completes_when_it_wakes() {
    let first = Job::new().dispatch("snooze", "");
    assert_eq!(first.checkpoints, [b"snoozed".to_vec()]);
    let second = Job::new().last_checkpoint(first.checkpoints[0].clone()).dispatch("snooze", "");
    assert_eq!(second.result.unwrap(), b"awake");
}

#[test]
#[should_panic(expected = "a handler's own panic, in attempt 1")]
fn checkpoint_resume_panics_first() {
    let _ = Job::new().dispatch("checkpoint-resume", "");
}

#[test]
fn checkpoint_resume_returns_what_it_finds() {
    let job = Job::new().attempt(2).last_checkpoint("kept by attempt 1");
    assert_eq!(job.dispatch("checkpoint-resume", "").result.unwrap(), b"kept by attempt 1");
}

#[test]
fn slow_takes_its_time_from_its_input() {
    assert_eq!(Job::new().dispatch("slow", r#"{"ms":0}"#).result.unwrap(), b"");
    let error = Job::new().dispatch("slow", r#"{"ms":"long"}"#).result.unwrap_err();
    assert_eq!(error.code(), "bad-input");
    assert!(error.message().contains("field `ms`"), "{}", error.message());
}

#[test]
fn ledger_leaves_a_trace_and_ends_as_it_is_told() {
    let run = |number, outcome: &str| {
        let input = format!(r#"{{"ms":30,"outcome":{outcome}}}"#);
        Job::new().attempt(number).dispatch("ledger", input)
    };
    let first = run(2, r#""ok""#);
    assert_eq!(first.result.unwrap(), b"2");
    assert!(first.logs.len() >= 2, "one when it starts and one when it ends");
    for line in &first.logs {
        assert!(line.message.starts_with("effect ") && line.message.ends_with(" 2"), "{line:?}");
    }
    assert_eq!(run(2, r#"{"error-until":3}"#).result.unwrap_err().code(), "not-yet");
    assert_eq!(run(3, r#"{"error-until":3}"#).result.unwrap(), b"3");
    assert_eq!(run(1, r#""permanent""#).result.unwrap_err().advice(), Retry::Permanent);
    let asleep = run(1, r#""snooze""#);
    assert_eq!(asleep.checkpoints, [b"snoozed".to_vec()]);
    assert_eq!(asleep.result.unwrap_err().advice(), Retry::Snooze(Duration::from_secs(1)));
    assert!(run(1, r#""poison""#).logs.iter().any(|line| line.message == "poison"));
}

#[test]
fn await_answer_waits_until_it_is_called_back() {
    let run = |job: Job| job.dispatch("await-answer", r#"{"ms":60000}"#);
    let waiting = run(Job::new());
    let (token, time) = waiting.suspended.unwrap();
    assert_eq!(token.as_deref(), Some(waiting.logs[0].message.as_str()));
    assert_eq!(time, Duration::from_mins(1));
    let answered = run(Job::new().resumed(Resumption::CalledBack(b"yes".to_vec())));
    assert_eq!((answered.result.unwrap(), answered.suspended), (b"yes".to_vec(), None));
    assert_eq!(run(Job::new().resumed(Resumption::TimedOut)).result.unwrap(), b"timed out");
    let forever = Job::new().dispatch("await-answer", r#"{"ms":1}"#);
    assert_eq!(forever.result.unwrap_err().code(), "suspend");
}

#[test]
fn flood_output_is_more_than_an_output_may_be() {
    assert!(Job::new().dispatch("flood-output", "").result.unwrap().len() > 8 << 20);
}

#[test]
fn a_kind_that_is_not_there_is_refused_for_good() {
    let error = Job::new().dispatch("behave", "").result.unwrap_err();
    assert_eq!((error.code(), error.advice()), ("unknown-kind", Retry::Permanent));
}
