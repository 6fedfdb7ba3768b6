//! Backtraces of guests as their authors know their code.

use rustc_demangle::try_demangle;
use std::collections::HashMap;
use std::fmt::Write as _;
use wasmtime::{FrameInfo, WasmBacktrace};

/// The longest backtrace, in bytes: it is kept in the job's error history.
const MAX_TEXT: usize = 8 * 1024;

/// Fewer frames than this say nothing about recursion.
const DEEP: usize = 24;

/// Function names and places, innermost first, one a line. Repeated lines are counted.
pub(crate) fn render(trace: &WasmBacktrace) -> String {
    let mut text = String::new();
    let mut lines = trace.frames().iter().flat_map(lines).peekable();
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

/// The function that makes up most of a deep backtrace.
pub(crate) fn recursion(trace: &WasmBacktrace) -> Option<String> {
    let frames = trace.frames();
    let mut counts: HashMap<(u32, *const u8), usize> = HashMap::new();
    let key = |frame: &FrameInfo| (frame.func_index(), frame.module().image_range().start);
    for frame in frames {
        *counts.entry(key(frame)).or_default() += 1;
    }
    let (most, count) = counts.into_iter().max_by_key(|&(_, count)| count)?;
    if frames.len() < DEEP || count * 3 < frames.len() {
        return None;
    }
    frames.iter().find(|frame| key(frame) == most).map(function)
}

/// One line for the frame, and one for each function that was inlined into it.
fn lines(frame: &FrameInfo) -> Vec<String> {
    if frame.symbols().is_empty() {
        return vec![function(frame)];
    }
    frame
        .symbols()
        .iter()
        .map(|symbol| {
            let mut line = symbol.name().map_or_else(|| function(frame), demangle);
            if let Some(file) = symbol.file() {
                // Writing to a String cannot fail.
                let _ = write!(line, " at {file}");
                if let Some(number) = symbol.line() {
                    let _ = write!(line, ":{number}");
                }
            }
            line
        })
        .collect()
}

fn function(frame: &FrameInfo) -> String {
    match frame.func_name() {
        Some(name) => demangle(name),
        None => format!("function {}", frame.func_index()),
    }
}

fn demangle(name: &str) -> String {
    let plain = try_demangle(name).map_or_else(|_| name.to_owned(), |name| format!("{name:#}"));
    crate::outcome::clean(&plain, 512)
}
