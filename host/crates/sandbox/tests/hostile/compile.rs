//! Components that are made to keep a compiler busy.

use crate::neighbour::{answers, refused};
use crate::support::{Guest, attempt};

/// What every component here exports, so that it is looked at any further.
const HANDLER: &str = r#"(instance $i) (export "cofferdam:job/handler@0.1.0" (instance $i))"#;

/// A component in text form.
fn component(parts: &str) -> Vec<u8> {
    wat::parse_str(format!("(component {parts})")).unwrap_or_else(|error| panic!("{error}"))
}

/// A handler with these functions must be refused so.
async fn handler_is_refused(items: &str, code: &str, said: &str) {
    refused(&Guest { items, ..Guest::default() }.module(), code, said).await;
}

/// A component must be refused because it has too many parts, or too large ones.
async fn too_complex(parts: &str, said: &str) {
    refused(&component(parts), "component-too-complex", said).await;
}

/// A handler with these parts may be compiled, and must run.
async fn runs(guest: Guest<'_>) {
    let guest = Guest { handle: "(call $ok_number (call $attack))", ..guest };
    answers(&guest.component(), || attempt(b""), &7_u64.to_le_bytes()).await;
}

#[tokio::test]
async fn a_function_of_more_than_a_megabyte_is_refused() {
    let body = "(drop (i32.const 1000))".repeat(300_000);
    let size = "a function with a size in bytes";
    handler_is_refused(&format!("(func {body})"), "component-too-complex", size).await;
}

#[tokio::test]
async fn two_hundred_thousand_functions_are_refused() {
    let functions = "(func)".repeat(200_001);
    handler_is_refused(&functions, "component-too-complex", "a number of functions").await;
}

#[tokio::test]
async fn thousands_of_core_modules_are_refused() {
    too_complex(&"(core module)".repeat(3_000), "a number of core modules").await;
}

#[tokio::test]
async fn thousands_of_inner_components_are_refused() {
    too_complex(&"(component)".repeat(3_000), "a number of inner components").await;
}

#[tokio::test]
async fn a_component_in_a_component_in_a_component_is_refused() {
    // Given a component, within another, within another, eleven hundred times
    const HEAD: &[u8] = b"\0asm\x0d\0\x01\0";
    const COMPONENT_SECTION: u8 = 4;
    let mut nested = HEAD.to_vec();
    for _ in 0..1_100 {
        let mut outer = HEAD.to_vec();
        outer.push(COMPONENT_SECTION);
        leb128(nested.len(), &mut outer);
        outer.append(&mut nested);
        nested = outer;
    }
    // then nobody goes to the bottom of it.
    refused(&nested, "component-too-complex", "a number of inner components").await;
}

/// Appends a number in the form that sizes of sections have.
fn leb128(mut number: usize, to: &mut Vec<u8>) {
    loop {
        let low = u8::try_from(number & 0x7f).unwrap();
        number >>= 7;
        if number == 0 {
            to.push(low);
            return;
        }
        to.push(low | 0x80);
    }
}

#[tokio::test]
async fn a_thousand_and_one_imports_are_refused() {
    let imports: String = (0..1_001).map(|n| format!(r#"(import "i{n}" (func))"#)).collect();
    too_complex(&imports, "a number of imports and exports").await;
}

#[tokio::test]
async fn a_thousand_and_one_exports_are_refused() {
    let exports: String = (0..1_001).map(|n| format!(r#"(export "e{n}" (instance $i))"#)).collect();
    too_complex(&format!("(instance $i) {exports}"), "a number of imports and exports").await;
}

#[tokio::test]
async fn a_type_that_doubles_with_each_line_is_refused() {
    // Given forty types, each twice the one before: the last has a million million parts
    let types: String =
        (1..40).map(|n| format!("(type $t{n} (tuple $t{} $t{}))", n - 1, n - 1)).collect();
    let bomb = component(&format!("(type $t0 (tuple u8 u8)) {types} {HANDLER}"));
    refused(&bomb, "compile-failed", "does not compile").await;
}

#[tokio::test]
async fn code_that_is_not_valid_is_refused() {
    // A function that leaves nothing where it promises a number: run as it is, it would return
    // whatever the host had there.
    let invalid = component(&format!("(core module (func (result i32))) {HANDLER}"));
    refused(&invalid, "compile-failed", "does not compile").await;
}

#[tokio::test]
async fn a_host_function_of_another_type_is_refused() {
    // Given a component that wants to give the log a number where it takes texts
    let parts = format!(
        r#"(import "cofferdam:job/log@0.1.0" (instance (export "log" (func (param "n" u8)))))
        {HANDLER}"#
    );
    refused(&component(&parts), "interface-mismatch", "does not fit").await;
}

#[tokio::test]
async fn a_jump_with_sixty_thousand_targets_is_compiled_and_runs() {
    let targets = "0 1 ".repeat(30_000);
    let items = format!(
        "(func $attack (result i64)
            (block (block (br_table {targets} (i32.const 54321))) (return (i64.const 8)))
            (i64.const 7))"
    );
    runs(Guest { items: &items, ..Guest::default() }).await;
}

#[tokio::test]
async fn twenty_thousand_blocks_in_each_other_are_compiled_and_run() {
    let (deeper, out) = ("block ".repeat(20_000), "end ".repeat(20_000));
    let items = format!("(func $attack (result i64) {deeper} br 19999 {out} i64.const 7)");
    runs(Guest { items: &items, ..Guest::default() }).await;
}

#[tokio::test]
async fn forty_thousand_pieces_of_data_are_compiled_and_run() {
    let data: String =
        (0..40_000).map(|n| format!(r#"(data (i32.const {}) "\07")"#, 65_536 + 8 * n)).collect();
    let items = format!("(func $attack (result i64) (i64.load8_u (i32.const 385528))) {data}");
    runs(Guest { memory: "10", items: &items, ..Guest::default() }).await;
}
