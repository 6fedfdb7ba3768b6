//! The kinds of this component, which their `#[handler]`s registered before anything is called.

use crate::context::Context;
use crate::error::Error;
use std::iter;
use std::sync::{Mutex, OnceLock, PoisonError};

/// One kind, as `#[handler]` writes it down.
pub struct Kind {
    /// What jobs ask for. Already checked.
    pub name: &'static str,
    /// The doc comment.
    pub description: &'static str,
    /// A JSON Schema, unchecked.
    pub input_schema: Option<&'static str>,
    /// The default deadline in milliseconds.
    pub deadline_ms: Option<u64>,
    /// The default for linear memory in bytes.
    pub memory_bytes: Option<u64>,
    /// The default fuel budget.
    pub fuel: Option<u64>,
    /// The default number of attempts.
    pub max_attempts: Option<u32>,
    /// Decodes, calls the function and encodes.
    pub call: fn(&Context, Vec<u8>) -> Result<Vec<u8>, Error>,
    /// The kind that was registered before this one; set by being registered.
    next: OnceLock<Option<&'static Kind>>,
}

impl Kind {
    /// A kind that is not registered yet, with only what it must have.
    pub const fn new(
        name: &'static str,
        description: &'static str,
        call: fn(&Context, Vec<u8>) -> Result<Vec<u8>, Error>,
    ) -> Self {
        Self {
            name,
            description,
            call,
            input_schema: None,
            deadline_ms: None,
            memory_bytes: None,
            fuel: None,
            max_attempts: None,
            next: OnceLock::new(),
        }
    }
}

/// The kind that was registered last; it leads to the others.
///
/// A list through the kinds themselves, because every sandbox registers all of them before it
/// runs one of them: this allocates nothing.
static LAST: Mutex<Option<&'static Kind>> = Mutex::new(None);

/// Adds a kind. Called by constructors, which some linkers arrange to run more than once: the
/// second time nothing happens.
pub fn register(kind: &'static Kind) {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if kind.next.set(*last).is_ok() {
        *last = Some(kind);
    }
}

/// Every kind, in the order of the linker.
fn registered() -> impl Iterator<Item = &'static Kind> {
    let last = *LAST.lock().unwrap_or_else(PoisonError::into_inner);
    iter::successors(last, |kind| kind.next.get().copied().flatten())
}

/// Every kind, by name. Two kinds of one name are both listed, so that the host can refuse the
/// component.
pub(crate) fn kinds() -> Vec<&'static Kind> {
    let mut kinds: Vec<&'static Kind> = registered().collect();
    kinds.sort_by_key(|kind| kind.name);
    kinds
}

/// What a handler returned, with the SDK's own error.
pub fn outcome<T, E: Into<Error>>(result: Result<T, E>) -> Result<T, Error> {
    result.map_err(E::into)
}

/// Runs the kind that the context names.
pub(crate) fn dispatch(context: &Context, input: Vec<u8>) -> Result<Vec<u8>, Error> {
    let Some(kind) = registered().find(|kind| kind.name == context.kind()) else {
        let known: Vec<&str> = kinds().into_iter().map(|kind| kind.name).collect();
        return Err(Error::permanent(format!(
            "this component has no kind `{}`, only {}",
            context.kind(),
            known.join(", ")
        ))
        .with_code("unknown-kind"));
    };
    (kind.call)(context, input)
}
