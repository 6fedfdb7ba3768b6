//! What went wrong, in words that every front door can translate.

/// The kinds of error that a caller can tell apart. The API maps them to status codes, the CLI
/// to exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request cannot be right.
    Invalid,
    /// What it names does not exist.
    NotFound,
    /// It contradicts what is there.
    Conflict,
    /// It is larger than the limit.
    TooLarge,
    /// Not now: the database is away. The same request may work later.
    Unavailable,
    /// A defect or an accident on our side.
    Internal,
}

/// The kind of a database error: passing or not.
pub(crate) fn kind_of_store_error(error: &cofferdam_store::StoreError) -> ErrorKind {
    if error.is_transient() { ErrorKind::Unavailable } else { ErrorKind::Internal }
}

/// An error and what caused it, for the log: libraries do not repeat their sources.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
