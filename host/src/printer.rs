//! The one place that writes to the terminal: data to standard output, all else to standard error.

use crate::cli::{Color, Global};
use crate::env;
use crate::error::{CommandError, Result};
use crate::text::{self, plain};
use anstream::{AutoStream, ColorChoice};
use comfy_table::{Attribute, Cell, ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use owo_colors::OwoColorize as _;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

/// How often a spinner turns.
const TICK: Duration = Duration::from_millis(100);

/// Decides once what is shown and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printer {
    json: bool,
    quiet: bool,
    color: ColorChoice,
}

impl Printer {
    /// A printer as the flags ask for.
    pub(crate) fn new(global: &Global) -> Self {
        let color = match global.color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::AlwaysAnsi,
            Color::Never => ColorChoice::Never,
        };
        Self { json: global.json, quiet: global.quiet, color }
    }

    /// Whether the output is JSON.
    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Writes data in the form that was asked for.
    pub(crate) fn data<T: Serialize>(
        self,
        data: &T,
        human: impl FnOnce(&T) -> String,
    ) -> Result<()> {
        if self.json { Self::object(data) } else { self.lines(&human(data)) }
    }

    /// Writes one JSON value on a line of its own.
    pub(crate) fn object(data: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(data).map_err(io::Error::from)?;
        line.push(b'\n');
        Self::bytes(&line)
    }

    /// Writes text that this program made, and a line break if it ends without one.
    pub(crate) fn lines(self, text: &str) -> Result<()> {
        let mut out = AutoStream::new(io::stdout(), self.color).lock();
        out.write_all(text.as_bytes())?;
        if !text.is_empty() && !text.ends_with('\n') {
            out.write_all(b"\n")?;
        }
        out.flush()?;
        Ok(())
    }

    /// Writes bytes as they are.
    pub(crate) fn bytes(bytes: &[u8]) -> Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()?;
        Ok(())
    }

    /// Tells the user something that is not data.
    pub(crate) fn note(self, text: &str) {
        if !self.quiet && !self.json {
            self.stderr(text);
        }
    }

    /// Tells the user something that may go wrong.
    pub(crate) fn warn(self, text: &str) {
        if !self.json {
            self.stderr(&format!("{} {}", "warning:".yellow().bold(), plain(text)));
        }
    }

    /// Shows an error: what failed, why, what to do.
    pub(crate) fn error(self, error: &CommandError) {
        if error.silent {
            return;
        }
        if self.json {
            self.stderr(&error.to_json().to_string());
            return;
        }
        let mut shown = format!("{} {}\n", "error:".red().bold(), plain(&error.message));
        for cause in &error.causes {
            let cause = text::indented(&plain(cause), 9);
            let _ = writeln!(shown, "  {} {cause}", "cause:".red());
        }
        if let Some(id) = &error.request_id {
            let _ = writeln!(shown, "  request: {}", plain(id));
        }
        if !error.hints.is_empty() {
            shown.push('\n');
        }
        for hint in &error.hints {
            let _ = writeln!(shown, "{} {}", "hint:".cyan().bold(), plain(hint));
        }
        self.stderr(shown.trim_end());
    }

    /// A table. Cells that others wrote must have been made [`plain`].
    pub(crate) fn table<const N: usize>(
        head: [&str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) -> String {
        let mut table = Table::new();
        // A row is a line, however narrow the terminal: an id that is cut in two cannot be copied.
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        // Always styled here; whether styles are shown is decided where the text is written.
        table.enforce_styling();
        table.set_header(head.map(|name| Cell::new(name).add_attribute(Attribute::Bold)));
        for row in rows {
            table.add_row(row);
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        table.lines().map(|line| trimmed(&line)).collect::<Vec<_>>().join("\n")
    }

    /// A bar that counts bytes.
    pub(crate) fn byte_bar(self, total: u64, what: &str) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(Some(total), self.draw_target());
        if let Ok(style) = ProgressStyle::with_template(
            "{msg} [{bar:30}] {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec}",
        ) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(what.to_owned());
        bar
    }

    /// A bar that counts things.
    pub(crate) fn count_bar(self, total: u64, what: &str) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(Some(total), self.draw_target());
        if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len} ({elapsed})")
        {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(what.to_owned());
        bar
    }

    /// A spinner for work whose size is not known.
    pub(crate) fn spinner(self, what: &str) -> ProgressBar {
        let spinner = ProgressBar::with_draw_target(None, self.draw_target());
        Self::spin(&spinner, what);
        spinner
    }

    /// Turns a bar into a spinner.
    pub(crate) fn spin(bar: &ProgressBar, what: &str) {
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        if !bar.is_hidden() {
            bar.enable_steady_tick(TICK);
        }
    }

    fn draw_target(self) -> ProgressDrawTarget {
        let hidden = self.quiet || self.json || env::no_progress() || !io::stderr().is_terminal();
        if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() }
    }

    fn stderr(self, text: &str) {
        let mut err = AutoStream::new(io::stderr(), self.color).lock();
        // Nothing is left to tell when standard error itself is gone.
        let _ = writeln!(err, "{text}");
    }
}

/// A line without the spaces that fill its last column, also where they are inside of a style.
fn trimmed(line: &str) -> String {
    const RESET: &str = "\u{1b}[0m";
    match line.trim_end().strip_suffix(RESET) {
        Some(styled) => format!("{}{RESET}", styled.trim_end()),
        None => line.trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_no_spaces_at_the_ends_of_lines() {
        let table = Printer::table(["a", "b"], [["1".to_owned(), "a long cell".to_owned()]]);
        let plain = anstream::adapter::strip_str(&table).to_string();
        assert_eq!(plain, "a  b\n1  a long cell");
    }
}
