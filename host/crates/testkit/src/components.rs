//! The example handlers, as components.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Names the folder that they are built into, when they are built already. `cargo xtask test`
/// builds them before it starts any test.
const VARIABLE: &str = "COFFERDAM_TEST_COMPONENTS";

/// The target whose output is a component.
const COMPONENT: &str = "wasm32-wasip2";

/// The target whose output is a core module that says which component it is to become.
const CORE_MODULE: &str = "wasm32-unknown-unknown";

/// The component of an example, such as `thumbnail`. Unless they are built already, it is brought
/// up to date first, once a process.
pub fn component(example: &str) -> Vec<u8> {
    read(example, COMPONENT)
}

/// The same example, built for the target without WASI: a core module with component metadata.
pub fn core_module(example: &str) -> Vec<u8> {
    read(example, CORE_MODULE)
}

fn read(example: &str, target: &'static str) -> Vec<u8> {
    static BUILT: Mutex<Option<Built>> = Mutex::new(None);
    let file = {
        // A test that panicked here left nothing half done.
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        let built = built.get_or_insert_with(HashMap::new);
        built.entry((example.to_owned(), target)).or_insert_with(|| locate(example, target)).clone()
    };
    match std::fs::read(&file) {
        Ok(bytes) => bytes,
        Err(error) => panic!("cannot read the component {}: {error}", file.display()),
    }
}

/// Where an example was built into, by its name and target.
type Built = HashMap<(String, &'static str), PathBuf>;

fn locate(example: &str, target: &str) -> PathBuf {
    // A library has underscores in its file name where its package has hyphens.
    let file = format!("{}.wasm", example.replace('-', "_"));
    if std::env::var_os(VARIABLE).is_none() {
        build(example, target);
    }
    let folder = target_folder();
    folder.join(target).join("guest").join(file)
}

/// Builds one. Cargo holds a lock meanwhile, so that test programs may do it at once.
fn build(example: &str, target: &str) {
    let root = root();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(&root)
        .args(["build", "--profile", "guest", "--target", target, "--package", example])
        .output()
        .expect("cargo can be run");
    assert!(
        output.status.success(),
        "cannot build the example `{example}`:\n{}\nhint: `cargo xtask setup` brings the target",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The folder that cargo builds into.
pub(crate) fn target_folder() -> PathBuf {
    let named = [VARIABLE, "CARGO_TARGET_DIR"].into_iter().find_map(std::env::var_os);
    named.map_or_else(|| root().join("target"), PathBuf::from)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}
