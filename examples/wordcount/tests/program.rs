//! The program as a program: standard input, arguments, standard output, exit status.

#![expect(clippy::unwrap_used, reason = "tests say what they expect by failing")]

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

/// The opening of Melville's "Moby-Dick" (1851).
const MOBY_DICK: &str = "\
Call me Ishmael. Some years ago—never mind how long precisely—having little or no money in my
purse, and nothing particular to interest me on shore, I thought I would sail about a little and
see the watery part of the world. It is a way I have of driving off the spleen and regulating the
circulation.
";

fn wordcount(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_wordcount"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that refuses its arguments does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

#[test]
fn it_counts_what_comes_in() {
    let output = wordcount(&["--top", "4"], MOBY_DICK.as_bytes());

    assert!(output.status.success());
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        concat!(
            r#"{"lines":4,"words":58,"distinct":47,"top":[{"word":"the","count":4},"#,
            r#"{"word":"and","count":3},{"word":"i","count":3},{"word":"a","count":2}]}"#,
            "\n"
        )
    );
}

#[test]
fn input_that_is_no_text_is_a_data_error() {
    let output = wordcount(&[], b"caf\xe9");
    assert_eq!(output.status.code(), Some(65));
    assert!(String::from_utf8(output.stderr).unwrap().contains("not UTF-8"));
    assert!(output.stdout.is_empty());
}

#[test]
fn arguments_that_are_not_understood_are_a_configuration_error() {
    for arguments in [["--top", "many"], ["--bottom", "3"], ["--top=", "3"]] {
        assert_eq!(wordcount(&arguments, b"a b").status.code(), Some(78), "{arguments:?}");
    }
}
