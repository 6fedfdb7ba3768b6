//! The example handlers are there, as components.

use cofferdam_testkit::component;

/// How the binary form of a component starts: the magic number, then version 13 of layer 1.
const COMPONENT: [u8; 8] = *b"\0asm\x0d\0\x01\0";

#[test]
fn examples_are_built_as_components() {
    assert!(component("wordcount").starts_with(&COMPONENT));
    // Its package has a hyphen, its file has not.
    assert!(component("csv-report").starts_with(&COMPONENT));
}
