//! A document with everything in it, and its HTML, letter by letter.

use cofferdam_guest::Retry;
use cofferdam_guest::testing::{self, Job};
use markdown::markdown;

const HANDBOOK: &[u8] = include_bytes!("data/handbook.md");
const HANDBOOK_HTML: &str = include_str!("data/handbook.html");

#[test]
fn the_handbook_becomes_html() {
    let run = Job::new().dispatch("markdown", HANDBOOK);

    assert_eq!(String::from_utf8(run.result.unwrap()).unwrap(), HANDBOOK_HTML);
    let line = &run.logs[0].message;
    assert_eq!(
        *line,
        format!(
            "{} bytes of Markdown became {} bytes of HTML",
            HANDBOOK.len(),
            HANDBOOK_HTML.len()
        )
    );
}

#[test]
fn nothing_becomes_nothing() {
    assert_eq!(testing::run(markdown, b"".as_slice()).result.unwrap(), b"");
}

#[test]
fn bytes_that_are_no_text_are_refused_for_good() {
    let error = testing::run(markdown, b"caf\xe9".as_slice()).result.unwrap_err();
    assert_eq!((error.code(), error.advice()), ("not-text", Retry::Permanent));
}

#[test]
fn the_component_has_one_kind() {
    // Using something of the crate is what links its kinds.
    assert_eq!(markdown::render("*a*"), "<p><em>a</em></p>\n");
    let kinds = testing::kinds();
    assert_eq!(kinds.len(), 1);
    assert_eq!(kinds[0].name, "markdown");
    assert!(kinds[0].description.starts_with("Turns Markdown"));
    assert_eq!(kinds[0].memory_bytes, Some(64 << 20));
}
