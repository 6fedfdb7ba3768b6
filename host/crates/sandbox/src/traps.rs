//! Traps in words.

use wasmtime::Trap;

/// A trap's name for programs and its explanation for people.
pub(crate) fn describe(trap: Trap) -> (String, String) {
    let (code, text) = match trap {
        Trap::UnreachableCodeReached => (
            "unreachable",
            "the guest reached code that it had declared unreachable: a panic or an abort",
        ),
        Trap::StackOverflow => {
            ("stack-overflow", "the guest's call stack is used up: endless recursion, most likely")
        }
        Trap::OutOfFuel => ("out-of-fuel", "the fuel budget is used up"),
        Trap::MemoryOutOfBounds => {
            ("memory-out-of-bounds", "the guest read or wrote outside of its memory")
        }
        Trap::TableOutOfBounds => {
            ("table-out-of-bounds", "the guest used an element outside of a table")
        }
        Trap::IndirectCallToNull => {
            ("indirect-call-to-null", "the guest called a function pointer that is null")
        }
        Trap::BadSignature => {
            ("bad-signature", "the guest called a function pointer as if it were of another type")
        }
        Trap::IntegerDivisionByZero => ("division-by-zero", "the guest divided by zero"),
        Trap::IntegerOverflow => ("integer-overflow", "a division of integers overflowed"),
        Trap::BadConversionToInteger => (
            "bad-conversion-to-integer",
            "the guest converted a number that is no integer, or too large for one",
        ),
        Trap::CannotEnterComponent => (
            "cannot-enter-component",
            "the component was called while it was in a call or after it had trapped",
        ),
        Trap::Interrupt => ("interrupt", "the guest was interrupted"),
        other => return (kebab(&format!("{other:?}")), other.to_string()),
    };
    (code.to_owned(), text.to_owned())
}

fn kebab(name: &str) -> String {
    let mut kebab = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.push(c.to_ascii_lowercase());
    }
    kebab
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trap_has_a_plain_name() {
        assert_eq!(describe(Trap::UnreachableCodeReached).0, "unreachable");
        assert_eq!(describe(Trap::InvalidChar).0, "invalid-char");
    }
}
