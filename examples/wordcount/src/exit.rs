//! Ending with a status that is a number.

use std::process::ExitCode;

/// The status for `main` to return.
///
/// On `wasm32-wasip2` the standard library tells the host only that a program failed, not with
/// which status, because early WASI 0.2 had no way to say it. Since 0.2.12 it has one, so there
/// this function says it itself, and does not return.
pub(crate) fn with(status: u8) -> ExitCode {
    #[cfg(target_os = "wasi")]
    wasip2::cli::exit::exit_with_code(status);
    ExitCode::from(status)
}
