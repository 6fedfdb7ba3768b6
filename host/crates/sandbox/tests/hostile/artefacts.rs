//! Uploads that are something else than they seem.

use crate::neighbour::refused;
use crate::support::{Guest, core_module};
use cofferdam_core::limits::MAX_COMPONENT;

/// What every component begins with.
const HEAD: &[u8] = b"\0asm\x0d\0\x01\0";

/// Machine code as the engine itself would make it: whoever loads it runs whatever is in it.
fn machine_code() -> Vec<u8> {
    let engine = wasmtime::Engine::default();
    engine.precompile_component(&Guest::default().component()).unwrap()
}

/// A component in text form.
fn component(parts: &str) -> Vec<u8> {
    wat::parse_str(format!("(component {parts})")).unwrap_or_else(|error| panic!("{error}"))
}

#[tokio::test]
async fn machine_code_is_refused() {
    refused(&machine_code(), "precompiled", "precompiled artefact").await;
}

#[tokio::test]
async fn machine_code_with_other_code_in_it_is_refused() {
    let mut forged = machine_code();
    for byte in forged.iter_mut().skip(4096).take(256) {
        *byte = 0xcc;
    }
    refused(&forged, "precompiled", "precompiled artefact").await;
}

#[tokio::test]
async fn the_head_of_machine_code_is_refused() {
    let mut forged = machine_code();
    forged.truncate(64);
    refused(&forged, "not-wasm", "a native program (ELF)").await;
}

#[tokio::test]
async fn machine_code_behind_the_head_of_a_component_is_refused() {
    refused(&[HEAD, &machine_code()].concat(), "malformed-component", "malformed").await;
}

#[tokio::test]
async fn a_native_program_is_refused() {
    let program = [&b"\x7fELF\x02\x01\x01\0"[..], &[0x90; 4096]].concat();
    refused(&program, "not-wasm", "a native program (ELF)").await;
}

#[tokio::test]
async fn a_component_that_is_cut_short_is_refused() {
    let mut cut = Guest::default().component();
    cut.pop();
    refused(&cut, "malformed-component", "malformed").await;
}

#[tokio::test]
async fn noise_behind_the_head_of_a_component_is_refused() {
    // The upper bits of a linear congruence: always the same noise.
    let mut state = 1_u32;
    let mut noise = HEAD.to_vec();
    noise.push(0x63);
    noise.extend((0..65_536).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_le_bytes()[3]
    }));
    refused(&noise, "malformed-component", "malformed").await;
}

#[tokio::test]
async fn a_part_that_claims_four_gigabytes_is_refused() {
    const CORE_MODULE_SECTION: u8 = 1;
    let claims = [HEAD, &[CORE_MODULE_SECTION, 0xff, 0xff, 0xff, 0xff, 0x0f]].concat();
    refused(&claims, "malformed-component", "malformed").await;
}

#[tokio::test]
async fn an_upload_over_the_limit_is_refused_unread() {
    let bytes = vec![0; usize::try_from(MAX_COMPONENT).unwrap() + 1];
    refused(&bytes, "component-too-large", "more than the 64MiB").await;
}

#[tokio::test]
async fn a_core_module_whose_description_lies_is_refused() {
    // It promises a handler and has none.
    let hollow = core_module("(module)", "handler");
    refused(&hollow, "core-module-unusable", "cannot be made a component").await;
}

#[tokio::test]
async fn a_handler_from_the_future_is_refused() {
    for parts in [
        r#"(instance $i) (export "cofferdam:job/handler@0.2.0" (instance $i))"#,
        r#"(import "cofferdam:job/log@7.0.0" (instance))"#,
    ] {
        refused(&component(parts), "wrong-sdk-version", "this host offers 0.1.0").await;
    }
}

#[tokio::test]
async fn an_sdk_from_the_future_is_refused() {
    let items = r#"(@custom "cofferdam:sdk" "0.2.1 0.2.0")"#;
    let guest = Guest { items, ..Guest::default() }.component();
    refused(&guest, "wrong-sdk-version", "built for cofferdam:job 0.2.0").await;
}

#[tokio::test]
async fn sockets_are_not_to_be_had() {
    let parts = r#"(import "wasi:sockets/tcp@0.2.0" (instance))"#;
    refused(&component(parts), "unknown-import", "jobs have no network").await;
}

#[tokio::test]
async fn functions_that_nobody_knows_are_not_to_be_had() {
    for (import, said) in [
        ("acme:tools/hammer@1.0.0", "acme:tools/hammer"),
        ("wasi:nn/graph@0.2.0", "wasi:nn/graph"),
        ("wasi:threads/spawn@0.2.0", "wasi:threads/spawn"),
    ] {
        let parts = format!(r#"(import "{import}" (instance))"#);
        refused(&component(&parts), "unknown-import", said).await;
    }
}
