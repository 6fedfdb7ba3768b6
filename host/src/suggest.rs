//! "Did you mean": the nearest of some known words.

/// The word of `known` that is nearest to `text`, if one is near enough to be meant.
pub(crate) fn nearest<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // One slip in three letters: more than that is another word.
    let most = text.chars().count().div_ceil(3);
    known
        .into_iter()
        .map(|word| (distance(text, word), word))
        .filter(|(distance, _)| *distance <= most)
        .min()
        .map(|(_, word)| word)
}

/// How many letters must be added, taken away or changed to come from one word to the other.
/// Source of the method: R. Wagner and M. Fischer, "The String-to-String Correction Problem", 1974.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (taken, letter) in from.chars().enumerate() {
        let mut next = vec![taken + 1];
        let mut left = taken + 1;
        for ((other, diagonal), above) in to.iter().zip(&row).zip(row.iter().skip(1)) {
            let changed = diagonal + usize::from(*other != letter);
            left = changed.min(above + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (from, to, expected) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("abc", "", 3),
            ("", "ab", 2),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(from, to), expected, "{from} to {to}");
        }
    }

    #[test]
    fn only_near_words_are_meant() {
        let known = ["slots", "schema", "queues"];
        assert_eq!(nearest("slot", known), Some("slots"));
        assert_eq!(nearest("shcema", known), Some("schema"));
        assert_eq!(nearest("colour", known), None);
    }
}
