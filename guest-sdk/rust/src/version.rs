//! What this SDK is, and which contract it speaks.

/// The version of the WIT package, as a literal that `concat!` takes.
macro_rules! wit_version {
    () => {
        "0.1.0"
    };
}
#[cfg(target_arch = "wasm32")]
pub(crate) use wit_version;

/// The version of this SDK.
pub const SDK_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version of the WIT package `cofferdam:job` that components of this SDK are built for.
pub const WIT_VERSION: &str = wit_version!();

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::Path};

    #[test]
    fn the_version_is_that_of_the_wit_package() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
        let expected = format!("package cofferdam:job@{WIT_VERSION};");
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.starts_with(&expected), "{} is not {expected}", path.display());
        }
    }
}
