//! The command line.

/// How many words are listed when nobody says.
const DEFAULT_TOP: usize = 10;

/// What the command line said.
pub(crate) struct Arguments {
    /// How many of the most frequent words to list.
    pub(crate) top: usize,
}

impl Arguments {
    /// Reads `[--top N]`. The error is a sentence.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut top = DEFAULT_TOP;
        while let Some(word) = words.next() {
            let number = match word.strip_prefix("--top") {
                Some("") => words.next().unwrap_or_default(),
                Some(rest) if rest.starts_with('=') => rest.trim_start_matches('=').to_owned(),
                _ => return Err(format!("`{word}` is not understood; usage: wordcount [--top N]")),
            };
            top = number.parse().map_err(|_| format!("--top takes a number, not `{number}`"))?;
        }
        Ok(Self { top })
    }
}
