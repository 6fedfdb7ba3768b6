//! Where a guest was: taken cheaply on its thread, written out elsewhere.

use crate::symbols::{Lookup, Place};
use crate::text;
use rustc_demangle::try_demangle;
use std::collections::HashMap;
use std::fmt::Write as _;
use wasmtime::{FrameInfo, WasmBacktrace};

/// The longest backtrace, in bytes: it is kept in the job's error history.
const MAX_TEXT: usize = 8 * 1024;

/// The longest function name in one, in bytes: generic code has names of any length.
const MAX_NAME: usize = 512;

/// Fewer frames than this say nothing about recursion.
const DEEP: usize = 24;

/// The frames of a guest, innermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trace(Vec<Frame>);

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The function's number in its core module.
    index: u32,
    /// Its name, where the module has names.
    name: Option<String>,
    /// Where it was, in bytes from the start of the component.
    pub(crate) offset: Option<u64>,
}

impl From<&WasmBacktrace> for Trace {
    fn from(trace: &WasmBacktrace) -> Self {
        let frame = |frame: &FrameInfo| Frame {
            index: frame.func_index(),
            name: frame.func_name().map(str::to_owned),
            offset: frame.module_offset().map(|offset| offset as u64),
        };
        Self(trace.frames().iter().map(frame).collect())
    }
}

#[cfg(test)]
impl Frame {
    /// A frame of which no more is known than where it was.
    pub(crate) fn at(offset: u64) -> Self {
        Self { index: 0, name: None, offset: Some(offset) }
    }
}

impl Trace {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The function that makes up most of a deep trace.
    pub(crate) fn recursion(&self) -> Option<String> {
        let mut counts: HashMap<(u32, Option<&str>), usize> = HashMap::new();
        for frame in &self.0 {
            *counts.entry((frame.index, frame.name.as_deref())).or_default() += 1;
        }
        let (most, count) = counts.into_iter().max_by_key(|&(_, count)| count)?;
        if self.0.len() < DEEP || count * 3 < self.0.len() {
            return None;
        }
        self.0.iter().find(|frame| (frame.index, frame.name.as_deref()) == most).map(function)
    }

    /// Function names, and places where the look-up finds them, one a line. Repeated lines are
    /// counted. Reads debug information, which takes milliseconds, or as long as its author likes.
    pub(crate) fn render(&self, mut lookup: Lookup<'_>) -> String {
        let lines = self.0.iter().flat_map(|frame| described(frame, &lookup.places(frame)));
        written(lines.collect())
    }

    /// Function names alone, one a line.
    pub(crate) fn names(&self) -> String {
        written(self.0.iter().map(function).collect())
    }
}

/// Lines as one text, repeated ones counted.
fn written(lines: Vec<String>) -> String {
    let mut lines = lines.into_iter().peekable();
    let mut text = String::new();
    while let Some(line) = lines.next() {
        let mut again = 0_usize;
        while lines.next_if_eq(&line).is_some() {
            again += 1;
        }
        if text.len() + line.len() > MAX_TEXT {
            break;
        }
        text.push_str(&line);
        if again > 0 {
            // Writing to a String cannot fail.
            let _ = write!(text, " (and {again} more)");
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}

/// One line for the frame, and one for each function that was inlined into it.
fn described(frame: &Frame, places: &[Place]) -> Vec<String> {
    if places.is_empty() {
        return vec![function(frame)];
    }
    let line = |(nth, place): (usize, &Place)| {
        let name = match (&place.function, &frame.name) {
            // The last one is the frame's own function: the name section has its whole path,
            // which line tables leave out.
            (_, Some(_)) if nth + 1 == places.len() => function(frame),
            (Some(name), _) => demangle(name),
            (None, _) => function(frame),
        };
        match &place.location {
            Some(location) => format!("{name} at {location}"),
            None => name,
        }
    };
    places.iter().enumerate().map(line).collect()
}

fn function(frame: &Frame) -> String {
    match &frame.name {
        Some(name) => demangle(name),
        None => format!("function {}", frame.index),
    }
}

fn demangle(name: &str) -> String {
    let plain = try_demangle(name).map_or_else(|_| name.to_owned(), |name| format!("{name:#}"));
    text::kept(&plain, MAX_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::Symbols;
    use std::time::Instant;

    fn frame(index: u32, name: &str) -> Frame {
        Frame { index, name: Some(name.to_owned()), offset: None }
    }

    #[test]
    fn repeated_frames_are_counted_and_names_are_plain() {
        let mut frames = vec![frame(1, "_ZN4core3fmt5write17h0123456789abcdefE")];
        frames.extend((0..3).map(|_| frame(2, "down")));
        frames.push(Frame { index: 7, name: None, offset: None });
        let trace = Trace(frames);
        let text = trace.render(Symbols::default().lookup(Instant::now()));
        assert_eq!(text, "core::fmt::write\ndown (and 2 more)\nfunction 7");
        assert_eq!(trace.names(), text);
    }

    #[test]
    fn recursion_is_what_fills_a_deep_trace() {
        let shallow = Trace(vec![frame(1, "down"); 5]);
        assert_eq!(shallow.recursion(), None);
        let mut frames = vec![frame(1, "leaf")];
        frames.extend((0..40).map(|i| frame(2 + i % 2, if i % 2 == 0 { "a" } else { "b" })));
        assert!(Trace(frames).recursion().is_some());
    }
}
