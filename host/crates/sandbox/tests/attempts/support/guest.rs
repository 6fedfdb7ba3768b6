//! Guests, written as core modules and made components by the same tools that linkers use.

use std::path::Path;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// What every guest has: memory, an allocator that never frees, and shorthands for results.
///
/// Where things are: 64 bytes from 256 for results of host calls, 64 from 512 for the handler's
/// result, texts from 1024; the allocator hands out what is above 4096.
const COMMON: &str = r#"
    (global $top (mut i32) (i32.const 4096))

    (func $realloc (export "cabi_realloc")
        (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
        (local $start i32)
        ;; Round up to the alignment.
        (local.set $start
            (i32.and
                (i32.add (global.get $top) (i32.sub (local.get $align) (i32.const 1)))
                (i32.sub (i32.const 0) (local.get $align))))
        (global.set $top (i32.add (local.get $start) (local.get $size)))
        (block $fits
            (br_if $fits
                (i32.le_u (global.get $top) (i32.mul (memory.size) (i32.const 65536))))
            (drop (memory.grow
                (i32.add (i32.const 1) (i32.div_u (local.get $size) (i32.const 65536))))))
        (local.get $start))
"#;

/// What handlers have besides. `$args` is where the arguments of `handle` are.
const HANDLER: &str = r#"
    (data (i32.const 1024) "echoDoes nothing.codemessage{}")

    (func $kind_ptr (param $args i32) (result i32) (i32.load offset=8 (local.get $args)))
    (func $input_ptr (param $args i32) (result i32) (i32.load offset=96 (local.get $args)))
    (func $input_len (param $args i32) (result i32) (i32.load offset=100 (local.get $args)))

    ;; ok(list)
    (func $ok (param $ptr i32) (param $len i32) (result i32)
        (i32.store8 (i32.const 512) (i32.const 0))
        (i32.store (i32.const 520) (local.get $ptr))
        (i32.store (i32.const 524) (local.get $len))
        (i32.const 512))

    ;; ok of the eight bytes of a number
    (func $ok_number (param $number i64) (result i32)
        (i64.store (i32.const 560) (local.get $number))
        (call $ok (i32.const 560) (i32.const 8)))

    ;; err with the code "code", the message "message" and an advice
    (func $fail (param $advice i32) (param $ms i64) (result i32)
        (i32.store8 (i32.const 512) (i32.const 1))
        (i32.store (i32.const 520) (i32.const 1041)) (i32.store (i32.const 524) (i32.const 4))
        (i32.store (i32.const 528) (i32.const 1045)) (i32.store (i32.const 532) (i32.const 7))
        (i32.store8 (i32.const 536) (local.get $advice))
        (i64.store (i32.const 544) (local.get $ms))
        (i32.const 512))
"#;

/// One kind called `echo`, with the schema `{}`.
const DESCRIBE: &str = r"
    (i32.store (i32.const 2048) (i32.const 1024)) (i32.store (i32.const 2052) (i32.const 4))
    (i32.store (i32.const 2056) (i32.const 1028)) (i32.store (i32.const 2060) (i32.const 13))
    (i32.store8 (i32.const 2064) (i32.const 1))
    (i32.store (i32.const 2068) (i32.const 1052)) (i32.store (i32.const 2072) (i32.const 2))
    (i32.store (i32.const 256) (i32.const 2048))
    (i32.store (i32.const 260) (i32.const 1))
    (i32.const 256)
";

/// A handler in parts.
pub(crate) struct Guest<'a> {
    pub(crate) imports: &'a str,
    pub(crate) memory: &'a str,
    pub(crate) items: &'a str,
    pub(crate) describe: &'a str,
    pub(crate) handle: &'a str,
}

impl Default for Guest<'_> {
    fn default() -> Self {
        Self {
            imports: "",
            memory: "1",
            items: "",
            describe: DESCRIBE,
            handle: "(call $ok (call $input_ptr (local.get $args)) (call $input_len (local.get $args)))",
        }
    }
}

impl Guest<'_> {
    /// The core module, its metadata included.
    pub(crate) fn module(&self) -> Vec<u8> {
        let Self { imports, memory, items, describe, handle } = self;
        let text = format!(
            r#"(module $guest
                {imports}
                (memory (export "memory") {memory})
                {COMMON} {HANDLER} {items}
                (func $describe (export "cofferdam:job/handler@0.1.0#describe") (result i32)
                    {describe})
                (func $handle (export "cofferdam:job/handler@0.1.0#handle")
                    (param $args i32) (result i32) {handle}))"#
        );
        with_metadata(&text, "handler")
    }

    /// The component.
    pub(crate) fn component(&self) -> Vec<u8> {
        encode(&self.module())
    }
}

/// A handler with this body and these functions, globals or tables.
pub(crate) fn handler(items: &str, handle: &str) -> Vec<u8> {
    Guest { items, handle, ..Guest::default() }.component()
}

/// A command whose `run` has this body; it must leave 0 (ok) or 1 (error).
pub(crate) fn command(items: &str, run: &str) -> Vec<u8> {
    let text = format!(
        r#"(module $program
            (import "wasi:cli/stdin@0.2.0" "get-stdin" (func $get_stdin (result i32)))
            (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $get_stdout (result i32)))
            (import "wasi:cli/stderr@0.2.0" "get-stderr" (func $get_stderr (result i32)))
            (import "wasi:io/streams@0.2.0" "[method]input-stream.blocking-read"
                (func $read (param i32 i64 i32)))
            (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
                (func $write (param i32 i32 i32 i32)))
            (import "wasi:cli/exit@0.2.0" "exit" (func $exit (param i32)))
            (import "wasi:cli/exit@0.2.0" "exit-with-code" (func $exit_with_code (param i32)))
            (import "wasi:cli/environment@0.2.0" "get-environment" (func $environment (param i32)))
            (import "wasi:cli/environment@0.2.0" "get-arguments" (func $arguments (param i32)))
            (memory (export "memory") 1)
            {COMMON}
            (func $print (param $ptr i32) (param $len i32)
                (call $write (call $get_stdout) (local.get $ptr) (local.get $len) (i32.const 256)))
            (func $complain (param $ptr i32) (param $len i32)
                (call $write (call $get_stderr) (local.get $ptr) (local.get $len) (i32.const 256)))
            {items}
            (func $run (export "wasi:cli/run@0.2.0#run") (result i32) {run}))"#
    );
    encode(&with_metadata(&text, "command"))
}

/// A core module with metadata for a world of `wasi.wit`.
pub(crate) fn core_module(text: &str, world: &str) -> Vec<u8> {
    with_metadata(text, world)
}

fn with_metadata(text: &str, world: &str) -> Vec<u8> {
    let mut module = wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"));
    let mut resolve = Resolve::default();
    let contract = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../wit");
    resolve.push_path(contract).unwrap();
    let package = resolve.push_str("wasi.wit", include_str!("wasi.wit")).unwrap();
    let world = resolve.select_world(&[package], Some(world)).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    module
}

fn encode(module: &[u8]) -> Vec<u8> {
    ComponentEncoder::default()
        .validate(true)
        .module(module)
        .and_then(|mut encoder| encoder.encode())
        .unwrap_or_else(|error| panic!("{error:?}"))
}
