//! The kinds of this component, which their `#[handler]`s registered before anything is called.

use crate::context::Context;
use crate::error::Error;
use std::sync::{Mutex, PoisonError};

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
}

static KINDS: Mutex<Vec<&'static Kind>> = Mutex::new(Vec::new());

/// Adds a kind. Called by constructors, which some linkers arrange to run more than once.
pub fn register(kind: &'static Kind) {
    let mut kinds = KINDS.lock().unwrap_or_else(PoisonError::into_inner);
    if !kinds.iter().any(|known| std::ptr::eq(*known, kind)) {
        kinds.push(kind);
    }
}

/// Every kind, by name: the order of constructors is the linker's affair.
///
/// Two kinds of one name are both listed, so that the host can refuse the component.
pub(crate) fn kinds() -> Vec<&'static Kind> {
    let mut kinds = KINDS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    kinds.sort_by_key(|kind| kind.name);
    kinds
}

/// Runs the kind that the context names.
pub(crate) fn dispatch(context: &Context, input: Vec<u8>) -> Result<Vec<u8>, Error> {
    let kinds = kinds();
    let Some(kind) = kinds.iter().find(|kind| kind.name == context.kind()) else {
        let known: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
        return Err(Error::permanent(format!(
            "this component has no kind `{}`, only {}",
            context.kind(),
            known.join(", ")
        ))
        .with_code("unknown-kind"));
    };
    (kind.call)(context, input)
}
