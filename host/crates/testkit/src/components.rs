//! The example handlers, as components.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Names the folder where they lie, already built. `cargo xtask test` builds them before it
/// starts any test.
const VARIABLE: &str = "COFFERDAM_TEST_COMPONENTS";

/// The target whose output is a component.
const TARGET: &str = "wasm32-wasip2";

/// The component of an example, such as `thumbnail`. Unless they are built already, it is brought
/// up to date first, once a process.
pub fn component(example: &str) -> Vec<u8> {
    static BUILT: Mutex<Option<HashMap<String, PathBuf>>> = Mutex::new(None);
    let file = {
        // A test that panicked here left nothing half done.
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        let built = built.get_or_insert_with(HashMap::new);
        built.entry(example.to_owned()).or_insert_with(|| locate(example)).clone()
    };
    match std::fs::read(&file) {
        Ok(bytes) => bytes,
        Err(error) => panic!("cannot read the component {}: {error}", file.display()),
    }
}

fn locate(example: &str) -> PathBuf {
    // A library has underscores in its file name where its package has hyphens.
    let file = format!("{}.wasm", example.replace('-', "_"));
    let folder = match std::env::var_os(VARIABLE) {
        Some(folder) => PathBuf::from(folder),
        None => build(example),
    };
    folder.join(file)
}

/// Builds one. Cargo holds a lock meanwhile, so that test programs may do it at once.
fn build(example: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(&root)
        .args(["build", "--profile", "guest", "--target", TARGET, "--package", example])
        .output()
        .expect("cargo can be run");
    assert!(
        output.status.success(),
        "cannot build the example `{example}`:\n{}\nhint: `cargo xtask setup` brings the target",
        String::from_utf8_lossy(&output.stderr)
    );
    let target = std::env::var_os("CARGO_TARGET_DIR");
    target.map_or_else(|| root.join("target"), PathBuf::from).join(TARGET).join("guest")
}
