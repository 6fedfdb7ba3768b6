//! Texts that guests wrote, at the size that is kept of them.

use cofferdam_core::history::bounded_text;

/// More bytes than the last character before a cut can have.
const CHARACTER: usize = 4;

/// At most `max` bytes of a guest's text, in the form that the rest of the system can hold. A
/// host call carries megabytes: only the part that is kept is copied, and no room beside it.
pub(crate) fn kept(text: &str, max: usize) -> String {
    // One character more than fits, so that the cut is still seen and marked.
    let head = text.floor_char_boundary(max.saturating_add(CHARACTER));
    let mut kept = bounded_text(text.get(..head).unwrap_or_default(), max);
    kept.shrink_to_fit();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(kept("short", 10), "short");
        assert_eq!(kept("a\0b", 10), "a\u{fffd}b");
        for text in ["é".repeat(20), "x".repeat(11), format!("{}𝄞", "x".repeat(9))] {
            let cut = kept(&text, 10);
            assert!(cut.len() <= 10 && cut.ends_with('…'), "{cut}");
        }
    }

    #[test]
    fn what_is_cut_off_takes_no_memory() {
        // Given a text of sixteen megabytes, when ten bytes of it are kept
        let cut = kept(&"x".repeat(16 << 20), 10);
        // then the rest is gone.
        assert!(cut.capacity() <= 16, "{}", cut.capacity());
    }
}
