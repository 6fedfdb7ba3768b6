//! What is accepted, and what is refused before anything is compiled.

use crate::support::{Guest, command, core_module, sandbox};
use cofferdam_core::hint::Hint as _;
use cofferdam_core::limits::MAX_COMPONENT;
use cofferdam_core::module::World;
use cofferdam_sandbox::{Inspection, Reject};

fn inspect(bytes: &[u8]) -> Result<Inspection, Reject> {
    sandbox(1).inspect(bytes)
}

/// The code of a refusal, which must come with a hint.
fn refusal(bytes: &[u8]) -> (&'static str, String) {
    let reject = inspect(bytes).unwrap_err();
    assert!(reject.hint().is_some(), "{reject:?}");
    (reject.code(), reject.to_string())
}

fn component(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

#[tokio::test]
async fn handlers_and_commands_are_told_apart() {
    let guest = Guest::default().component();
    let handler = inspect(&guest).unwrap();
    assert_eq!(handler.world, World::Handler);
    assert_eq!(handler.component, guest);
    assert_eq!(handler.exports, ["cofferdam:job/handler@0.1.0"]);
    assert!(!handler.converted);

    let command = inspect(&command("", "(i32.const 0)")).unwrap();
    assert_eq!(command.world, World::Command);
    assert!(command.imports.iter().any(|import| import == "wasi:cli/exit@0.2.0"));
}

#[tokio::test]
async fn a_core_module_with_metadata_is_made_a_component() {
    let inspection = inspect(&Guest::default().module()).unwrap();
    assert!(inspection.converted);
    assert_eq!(inspection.component, Guest::default().component());
}

#[tokio::test]
async fn the_sdk_says_its_version() {
    let items = r#"(@custom "cofferdam:sdk" "0.1.7 0.1.0")"#;
    let guest = Guest { items, ..Guest::default() }.component();
    assert_eq!(inspect(&guest).unwrap().sdk_version.as_deref(), Some("0.1.7"));
}

#[tokio::test]
async fn an_sdk_of_another_contract_is_named() {
    let items = r#"(@custom "cofferdam:sdk" "0.2.1 0.2.0")"#;
    let guest = Guest { items, ..Guest::default() }.component();
    let (code, text) = refusal(&guest);
    assert_eq!(code, "wrong-sdk-version");
    assert_eq!(text, "the component is built for cofferdam:job 0.2.0, this host offers 0.1.0");
    // So is a component that only imports or exports it.
    for text in [
        r#"(component (import "cofferdam:job/log@0.2.0" (instance)))"#,
        r#"(component (instance $i) (export "cofferdam:job/handler@0.2.0" (instance $i)))"#,
    ] {
        assert_eq!(refusal(&component(text)).0, "wrong-sdk-version", "{text}");
    }
}

#[tokio::test]
async fn wrong_files_are_named() {
    for (bytes, code, part) in [
        (&b""[..], "empty-component", "empty"),
        (b"(component)", "not-wasm", "WebAssembly text"),
        (b"\x1f\x8b\x08\x00", "not-wasm", "gzip"),
        (b"\x7fELF\x02\x01\x01\x00", "not-wasm", "ELF"),
        (b"#!/bin/sh\n", "not-wasm", "a text file"),
        (b"\0asm\x0d\0\x01\0\x63", "malformed-component", "malformed"),
    ] {
        let (found, text) = refusal(bytes);
        assert_eq!(found, code, "{text}");
        assert!(text.contains(part), "{text}");
    }
}

#[tokio::test]
async fn a_large_file_is_refused_unread() {
    let bytes = vec![0; usize::try_from(MAX_COMPONENT).unwrap() + 1];
    assert_eq!(refusal(&bytes).0, "component-too-large");
}

#[tokio::test]
async fn a_precompiled_artefact_is_refused() {
    // Given what an engine made of a component
    let engine = wasmtime::Engine::default();
    let artefact = engine.precompile_component(&Guest::default().component()).unwrap();
    // then it is not loaded, however it was made.
    assert_eq!(refusal(&artefact).0, "precompiled");
}

#[tokio::test]
async fn core_modules_are_refused_without_metadata_or_with_the_wrong_one() {
    assert_eq!(refusal(&component("(module)")).0, "core-module");
    // Metadata that promises exports which are not there.
    let hollow = core_module("(module)", "handler");
    assert_eq!(refusal(&hollow).0, "core-module-unusable");
}

#[tokio::test]
async fn imports_that_are_not_offered_are_refused_with_a_reason() {
    for (import, part) in [
        ("wasi:sockets/instance-network@0.2.0", "no network"),
        ("wasi:http/outgoing-handler@0.2.0", "HTTP"),
        ("acme:tools/hammer@1.0.0", "acme:tools/hammer"),
    ] {
        let imports = format!(r#"(import "{import}" "knock" (func $knock))"#);
        let handle = "(call $knock) (unreachable)";
        let guest = Guest { imports: &imports, handle, ..Guest::default() }.component();
        let (code, text) = refusal(&guest);
        assert_eq!(code, "unknown-import");
        assert!(text.contains(part), "{text}");
    }
}

#[tokio::test]
async fn a_component_that_is_no_job_is_refused() {
    let text = r#"(module (func (export "test:guests/nonsense#knock")))"#;
    let (code, _) = refusal(&core_module(text, "neither"));
    assert_eq!(code, "wrong-world");
    assert_eq!(refusal(&component("(component)")).0, "wrong-world");
}

#[tokio::test]
async fn bombs_are_refused_before_they_reach_the_compiler() {
    // One function of more than a mebibyte.
    let body = "(drop (i32.const 1000))".repeat(300_000);
    let guest = Guest { items: &format!("(func {body})"), ..Guest::default() };
    let (code, text) = refusal(&guest.module());
    assert_eq!(code, "component-too-complex", "{text}");
    // A great many core modules.
    let modules = format!("(component {})", "(core module)".repeat(300));
    assert_eq!(refusal(&component(&modules)).0, "component-too-complex");
}

#[tokio::test]
async fn what_does_not_compile_or_fit_is_refused_by_the_compiler() {
    let sandbox = sandbox(1);
    // Invalid code, in bytes that read well.
    let export = r#"(instance $i) (export "cofferdam:job/handler@0.1.0" (instance $i))"#;
    let invalid = component(&format!("(component (core module (func (result i32))) {export})"));
    let reject = sandbox.compile(&invalid).unwrap_err();
    assert_eq!(reject.code(), "compile-failed", "{reject:?}");
    // The right name on something else.
    let hollow = component(&format!("(component {export})"));
    let reject = sandbox.compile(&hollow).unwrap_err();
    assert_eq!(reject.code(), "interface-mismatch", "{reject:?}");
    // An import of the right name and the wrong type.
    let other = component(&format!(
        r#"(component
            (import "cofferdam:job/log@0.1.0" (instance (export "log" (func (param "n" u8)))))
            {export})"#
    ));
    let reject = sandbox.compile(&other).unwrap_err();
    assert_eq!(reject.code(), "interface-mismatch", "{reject:?}");
}
