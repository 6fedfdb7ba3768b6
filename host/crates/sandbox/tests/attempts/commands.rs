//! Commands: any WASI program is a job.

use crate::support::{Recorder, attempt, attempt_for, command, failure, limited, output, run};
use cofferdam_core::class::FailureClass;
use cofferdam_core::limits::Limits;
use cofferdam_core::log::LogLevel;
use cofferdam_core::outcome::End;
use cofferdam_sandbox::Attempt;
use std::sync::Arc;

#[tokio::test]
async fn standard_input_becomes_standard_output() {
    let program = command(
        "",
        "(call $read (call $get_stdin) (i64.const 100) (i32.const 288))
         (call $print (i32.load (i32.const 292)) (i32.load (i32.const 296)))
         (i32.const 0)",
    );
    let outcome = run(&program, attempt(b"through")).await;
    assert_eq!(outcome.usage.output_bytes, 7);
    assert_eq!(output(outcome), b"through");
}

#[tokio::test]
async fn standard_error_is_the_log_and_not_the_output() {
    let host = Arc::new(Recorder::default());
    let program = command(
        r#"(data (i32.const 1024) "careful\n")"#,
        "(call $complain (i32.const 1024) (i32.const 8)) (i32.const 0)",
    );
    assert_eq!(output(run(&program, attempt_for(&host, b"")).await), b"");
    assert_eq!(host.said(LogLevel::Stderr), ["careful"]);
}

#[tokio::test]
async fn exit_codes_are_the_verdict() {
    for (code, class) in [
        (1, FailureClass::Error),
        (2, FailureClass::Error),
        (65, FailureClass::Permanent),
        (78, FailureClass::Permanent),
    ] {
        let program =
            command("", &format!("(call $exit_with_code (i32.const {code})) (i32.const 0)"));
        let failed = failure(run(&program, attempt(b"")).await, class);
        assert_eq!(failed.code, format!("exit-{code}"));
    }
}

#[tokio::test]
async fn an_early_exit_may_be_a_success() {
    for exit in ["(call $exit_with_code (i32.const 0))", "(call $exit (i32.const 0))"] {
        let program = command(
            r#"(data (i32.const 1024) "done")"#,
            &format!("(call $print (i32.const 1024) (i32.const 4)) {exit} (unreachable)"),
        );
        assert_eq!(output(run(&program, attempt(b"")).await), b"done");
    }
}

#[tokio::test]
async fn a_program_without_exit_codes_can_say_its_verdict() {
    // Given a program whose library knows only success and failure, like Rust's
    let program = command(
        r#"(data (i32.const 1024) "no such column\ncofferdam: exit 65\n")"#,
        "(call $complain (i32.const 1024) (i32.const 33)) (call $exit (i32.const 1)) (unreachable)",
    );
    // when its last line on standard error is a code, then that counts.
    let failed = failure(run(&program, attempt(b"")).await, FailureClass::Permanent);
    assert_eq!(failed.code, "exit-65");
    assert!(failed.message.contains("no such column"), "{}", failed.message);
}

#[tokio::test]
async fn a_run_that_fails_is_an_error() {
    let failed =
        failure(run(&command("", "(i32.const 1)"), attempt(b"")).await, FailureClass::Error);
    assert_eq!(failed.message, "the program ended with exit code 1");
}

#[tokio::test]
async fn a_programs_output_is_bounded() {
    let program =
        command("", "(loop $l (call $print (i32.const 0) (i32.const 1000)) (br $l)) (unreachable)");
    let limits = Limits { output_bytes: 10_000, ..Limits::default() };
    failure(run(&program, limited(limits)).await, FailureClass::Output);
}

#[tokio::test]
async fn a_programs_traps_are_traps() {
    failure(run(&command("", "(unreachable)"), attempt(b"")).await, FailureClass::Trap);
}

#[tokio::test]
async fn a_program_sees_its_own_arguments_and_environment_and_nothing_else() {
    // Given a program that prints how many variables and arguments it has, and the first name
    let program = command(
        "",
        "(call $environment (i32.const 288))
         (call $arguments (i32.const 296))
         (call $print (i32.const 292) (i32.const 4))
         (call $print (i32.const 300) (i32.const 4))
         (call $print (i32.load (i32.load (i32.const 288)))
                      (i32.load offset=4 (i32.load (i32.const 288))))
         (i32.const 0)",
    );
    let attempt = Attempt {
        args: vec!["--fast".to_owned(), "now".to_owned()],
        env: vec![("REGION".to_owned(), "eu".to_owned())],
        ..attempt(b"")
    };
    // when it runs, then it has the given variable, the arguments and its own name.
    let End::Completed(seen) = run(&program, attempt).await.end else { panic!("it runs") };
    assert_eq!(seen[..4], 1_u32.to_le_bytes());
    assert_eq!(seen[4..8], 3_u32.to_le_bytes());
    assert_eq!(&seen[8..], b"REGION");
}
