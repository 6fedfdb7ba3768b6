//! Texts for people: times, sizes, and what strangers wrote.

use cofferdam_core::Time;
use std::fmt::Write as _;
use std::time::Duration;

/// What a guest or a server wrote, safe for a terminal: control characters are spelt out, so that
/// a log line cannot move the cursor, set the title or fill the clipboard.
pub(crate) fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => safe.push(c),
            c if c.is_control() || is_reordering(c) => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    safe
}

/// Characters that change the order in which the ones after them are shown.
fn is_reordering(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The first line of a text, at most `most` characters of it, safe for a table cell.
pub(crate) fn cell(text: &str, most: usize) -> String {
    let line = plain(text.lines().next().unwrap_or_default()).replace('\t', " ");
    if line.chars().count() <= most {
        return line;
    }
    line.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Indents every line but the first and those that are empty.
pub(crate) fn indented(text: &str, by: usize) -> String {
    let indent = " ".repeat(by);
    let mut lines = text.trim_end().lines();
    let mut indented = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        indented.push('\n');
        if !line.is_empty() {
            indented.push_str(&indent);
            indented.push_str(line);
        }
    }
    indented
}

/// The frames of a backtrace that are the handler's own and its libraries', at most `most` of
/// them: what the language's runtime does between a panic and its end is the same each time. All
/// frames where there are no others.
pub(crate) fn own_frames(backtrace: &str, most: usize) -> Vec<&str> {
    const RUNTIME: [&str; 2] = [" at /rustc/", " at wasisdk:"];
    let is_own = |frame: &&str| !RUNTIME.iter().any(|place| frame.contains(place));
    let own: Vec<_> = backtrace.lines().filter(is_own).take(most).collect();
    if own.is_empty() { backtrace.lines().take(most).collect() } else { own }
}

/// A time, to the second, in UTC.
pub(crate) fn time(time: Time) -> String {
    time.format("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// A measured duration to three digits: `412 µs`, `3.14 ms`, `12.5 s`, `2m5s`.
pub(crate) fn took(duration: Duration) -> String {
    let micros = duration.as_micros();
    let seconds = duration.as_secs_f64();
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => three_digits(seconds * 1e3, "ms"),
        1_000_000..120_000_000 => three_digits(seconds, "s"),
        _ => cofferdam_core::units::format_duration(Duration::from_secs(duration.as_secs())),
    }
}

/// A measured number of bytes to three digits: `812 B`, `1.25 MiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    for (unit, factor) in UNITS {
        if bytes >= factor {
            #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
            return three_digits(bytes as f64 / factor as f64, unit);
        }
    }
    format!("{bytes} B")
}

fn three_digits(value: f64, unit: &str) -> String {
    let digits = match value {
        _ if value < 10.0 => 2,
        _ if value < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

/// A number in groups of three digits: `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Names and values, one pair a line, the values below each other.
pub(crate) fn pairs(pairs: &[(&str, String)]) -> String {
    let width = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or_default() + 2;
    let mut lines = String::new();
    for (name, value) in pairs {
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{name:width$}{}", indented(value, width));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_cannot_drive_the_terminal() {
        assert_eq!(plain("a\u{1b}]0;title\u{7}b\tc"), "a\\u{1b}]0;title\\u{7}b\tc");
        assert_eq!(plain("\u{202e}gpj.exe"), "\\u{202e}gpj.exe");
        assert_eq!(plain("grün ✓"), "grün ✓");
    }

    #[test]
    fn cells_are_short_and_one_line() {
        assert_eq!(cell("one\ntwo", 10), "one");
        assert_eq!(cell("abcdefghij", 5), "abcd…");
    }

    #[test]
    fn backtraces_start_at_the_handler() {
        let backtrace = "abort at wasisdk://a.c:5\npanic at /rustc/5/b.rs:1\nmine at src/lib.rs:2";
        assert_eq!(own_frames(backtrace, 9), ["mine at src/lib.rs:2"]);
        assert_eq!(own_frames("abort at wasisdk://a.c:5", 9), ["abort at wasisdk://a.c:5"]);
    }

    #[test]
    fn measured_values_have_three_digits() {
        let shown: Vec<_> = [0, 412, 3_140, 12_500_000, 125_000_000]
            .map(|micros| took(Duration::from_micros(micros)))
            .into();
        assert_eq!(shown, ["0 µs", "412 µs", "3.14 ms", "12.5 s", "2m5s"]);
        let shown: Vec<_> = [0, 1023, 1024, 1 << 24, 300 << 20].map(bytes).into();
        assert_eq!(shown, ["0 B", "1023 B", "1.00 KiB", "16.0 MiB", "300 MiB"]);
        assert_eq!([0, 999, 1_000, 12_345_678].map(grouped), ["0", "999", "1,000", "12,345,678"]);
    }
}
