//! Source files and lines of a component, from the debug information that it carries.
//!
//! The engine could do this itself, whenever it takes a backtrace: on the guest's thread, for
//! each frame anew, also when an attempt is only dropped. Killing an attempt of a plain Rust
//! component took thirty milliseconds that way, and what is in the debug information is the
//! uploader's to choose. So the engine takes bare backtraces, and lines are looked up here,
//! once, on a thread where it holds nobody up.

use crate::backtrace::Frame;
use addr2line::Context;
use addr2line::gimli::{self, EndianSlice, LittleEndian};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wasmparser::{Parser, Payload};

/// The most debug information kept of a component, in bytes. A Rust program with line tables has
/// two million. With more of it there are only function names.
const MAX_DEBUG_INFO: usize = 16 << 20;

/// The most places remembered of a component. Attempts of one component mostly fail in the same
/// few places, and looking one up takes longer than all else about a failure.
const MAX_KNOWN: usize = 4_096;

/// How DWARF sections are named.
const PREFIX: &str = ".debug_";

/// The debug information of a component's core modules.
#[derive(Default)]
pub(crate) struct Symbols {
    modules: Vec<Module>,
    /// What was found before, by offset.
    known: Mutex<HashMap<u64, Vec<Place>>>,
}

/// The debug information of one of them.
#[derive(Default)]
struct Module {
    /// Where its code section is, in bytes from the start of the component. DWARF counts from
    /// the start of it.
    code: Range<u64>,
    sections: Vec<(String, Vec<u8>)>,
}

/// A place in the source.
pub(crate) struct Place {
    /// The function, mangled: an inlined one is in no other table.
    pub(crate) function: Option<String>,
    /// `file:line`.
    pub(crate) location: Option<String>,
}

impl Symbols {
    /// Collects what a component has. The component was checked before.
    pub(crate) fn of(component: &[u8]) -> Self {
        let mut modules = Vec::new();
        let mut module = None;
        let mut size = 0;
        for payload in Parser::new(0).parse_all(component) {
            let Ok(payload) = payload else { return Self::default() };
            match (payload, &mut module) {
                (Payload::ModuleSection { .. }, module) => *module = Some(Module::default()),
                (Payload::CodeSectionStart { range, .. }, Some(module)) => {
                    module.code = range.start as u64..range.end as u64;
                }
                (Payload::CustomSection(section), Some(module))
                    if section.name().starts_with(PREFIX) =>
                {
                    size += section.data().len();
                    if size > MAX_DEBUG_INFO {
                        return Self::default();
                    }
                    module.sections.push((section.name().to_owned(), section.data().to_vec()));
                }
                (Payload::End(_), module) => {
                    modules.extend(module.take().filter(|module| !module.sections.is_empty()));
                }
                _ => {}
            }
        }
        Self { modules, known: Mutex::default() }
    }

    /// Starts looking up frames. May block: of many attempts that fail together, one reads the
    /// debug information and the others wait for what it finds.
    pub(crate) fn lookup(&self) -> Lookup<'_> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        Lookup { modules: &self.modules, known, reader: None }
    }
}

/// A lookup under way.
pub(crate) struct Lookup<'a> {
    modules: &'a [Module],
    known: MutexGuard<'a, HashMap<u64, Vec<Place>>>,
    /// Made for the first frame that is not known.
    reader: Option<Reader<'a>>,
}

impl Lookup<'_> {
    /// The function of a frame and those that were inlined into it, innermost first. Empty where
    /// there is no debug information.
    pub(crate) fn places(&mut self, frame: &Frame) -> &[Place] {
        let Some(offset) = frame.offset else { return &[] };
        if self.modules.is_empty() {
            return &[];
        }
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        let reader = &mut self.reader;
        self.known.entry(offset).or_insert_with(|| {
            reader.get_or_insert_with(|| Reader::of(self.modules)).places(offset)
        })
    }
}

/// Debug information whose indexes are read, which takes milliseconds.
struct Reader<'a> {
    modules: Vec<(&'a Range<u64>, Context<EndianSlice<'a, LittleEndian>>)>,
}

impl<'a> Reader<'a> {
    fn of(modules: &'a [Module]) -> Self {
        Self { modules: modules.iter().filter_map(Module::reader).collect() }
    }

    fn places(&self, offset: u64) -> Vec<Place> {
        let module = self.modules.iter().find(|(code, _)| code.contains(&offset));
        let Some((code, context)) = module else { return Vec::new() };
        let mut places = Vec::new();
        // Uploaders write what they like into these sections: what does not read is not there.
        let Ok(mut frames) = context.find_frames(offset - code.start).skip_all_loads() else {
            return places;
        };
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref().and_then(|name| name.raw_name().ok());
            let location = frame.location.and_then(|location| {
                let file = location.file?;
                Some(match location.line {
                    Some(line) => format!("{file}:{line}"),
                    None => file.to_owned(),
                })
            });
            places.push(Place { function: name.map(std::borrow::Cow::into_owned), location });
        }
        places
    }
}

impl Module {
    fn reader(&self) -> Option<(&Range<u64>, Context<EndianSlice<'_, LittleEndian>>)> {
        let load = |id: gimli::SectionId| {
            let section = self.sections.iter().find(|(name, _)| name == id.name());
            let bytes = section.map_or(&[][..], |(_, bytes)| bytes);
            Ok::<_, gimli::Error>(EndianSlice::new(bytes, LittleEndian))
        };
        let dwarf = gimli::Dwarf::load(load).ok()?;
        Some((&self.code, Context::from_dwarf(dwarf).ok()?))
    }
}
