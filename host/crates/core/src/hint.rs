//! Errors that say what to do next.

/// An error that may know what its reader can do about it.
///
/// The hint is a sentence without a trailing period; printers put `hint:` before it. An error
/// that nobody but the operator can mend has none.
pub trait Hint: std::error::Error {
    /// What to do about the error, when there is something.
    fn hint(&self) -> Option<String> {
        None
    }
}
