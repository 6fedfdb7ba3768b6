//! Counting.

use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;

/// What is printed.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    pub(crate) lines: usize,
    pub(crate) words: usize,
    pub(crate) distinct: usize,
    pub(crate) top: Vec<Word>,
}

/// A word and how often it occurs.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Word {
    pub(crate) word: String,
    pub(crate) count: usize,
}

/// Counts the words of a text, in lower case, and lists the `top` most frequent ones; words that
/// occur equally often stand in alphabetical order.
///
/// A word is letters, digits and the apostrophes between them.
pub(crate) fn count(text: &str, top: usize) -> Counts {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut words = 0;
    let is_apostrophe = |c: char| matches!(c, '\'' | '\u{2019}');
    for word in text.split(|c: char| !c.is_alphanumeric() && !is_apostrophe(c)) {
        let word = word.trim_matches(is_apostrophe);
        if !word.is_empty() {
            words += 1;
            *counts.entry(word.to_lowercase()).or_default() += 1;
        }
    }
    let distinct = counts.len();
    let mut ranking: Vec<Word> =
        counts.into_iter().map(|(word, count)| Word { word, count }).collect();
    ranking.sort_by(|a, b| (Reverse(a.count), &a.word).cmp(&(Reverse(b.count), &b.word)));
    ranking.truncate(top);
    Counts { lines: text.lines().count(), words, distinct, top: ranking }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_letters_digits_and_inner_apostrophes() {
        let counts = count("Don't 'quote' me — ÉTÉ été, don\u{2019}t; x86\n", 9);
        let words: Vec<(&str, usize)> =
            counts.top.iter().map(|word| (word.word.as_str(), word.count)).collect();
        assert_eq!(
            words,
            [("été", 2), ("don't", 1), ("don\u{2019}t", 1), ("me", 1), ("quote", 1), ("x86", 1)]
        );
        assert_eq!((counts.lines, counts.words, counts.distinct), (1, 7, 6));
    }

    #[test]
    fn nothing_has_no_words() {
        assert_eq!(count("", 3), Counts { lines: 0, words: 0, distinct: 0, top: Vec::new() });
    }
}
