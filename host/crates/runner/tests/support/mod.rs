//! Handlers that no compiler makes, written by hand.

use std::path::Path;

/// The handler in a text, as a core module that says which component it is to become.
pub(crate) fn handler(text: &str) -> Vec<u8> {
    let mut module = wat::parse_str(text).unwrap();
    let mut resolve = wit_parser::Resolve::default();
    let contract = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../wit");
    let (package, _) = resolve.push_path(contract).unwrap();
    let world = resolve.select_world(&[package], Some("handler-minimal")).unwrap();
    let encoding = wit_component::StringEncoding::UTF8;
    wit_component::embed_component_metadata(&mut module, &resolve, world, encoding).unwrap();
    module
}
