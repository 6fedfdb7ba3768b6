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
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Instant;
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
    /// What was found before, by offset. Never held while anything is read.
    known: Mutex<HashMap<u64, Places>>,
    /// Held by the one look-up that reads the debug information.
    reading: Mutex<()>,
}

/// The places of one frame, innermost first.
type Places = Arc<[Place]>;

/// The debug information of one of them.
#[derive(Default)]
struct Module {
    /// Where its code section is, in bytes from the start of the component. DWARF counts from
    /// the start of it.
    code: Range<u64>,
    sections: Vec<(String, Bytes)>,
}

/// How the debug information lies in bytes one after the other.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct SymbolsIndex(Vec<ModuleIndex>);

/// One core module: its code section, and its debug sections with their sizes.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ModuleIndex {
    code: Range<u64>,
    sections: Vec<(String, usize)>,
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
                    let data = Bytes::copy_from_slice(section.data());
                    module.sections.push((section.name().to_owned(), data));
                }
                (Payload::End(_), module) => {
                    modules.extend(module.take().filter(|module| !module.sections.is_empty()));
                }
                _ => {}
            }
        }
        Self { modules, known: Mutex::default(), reading: Mutex::default() }
    }

    /// How its bytes lie one after the other.
    pub(crate) fn index(&self) -> SymbolsIndex {
        let section = |(name, data): &(String, Bytes)| (name.clone(), data.len());
        let module = |module: &Module| ModuleIndex {
            code: module.code.clone(),
            sections: module.sections.iter().map(section).collect(),
        };
        SymbolsIndex(self.modules.iter().map(module).collect())
    }

    /// Its bytes, in the order of the index.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Bytes> {
        self.modules.iter().flat_map(|module| &module.sections).map(|(_, data)| data.clone())
    }

    /// The size of its bytes.
    pub(crate) fn size(&self) -> usize {
        self.pieces().map(|data| data.len()).sum()
    }

    /// Puts it together again. Nothing when there are not just as many bytes as the index says.
    pub(crate) fn read(index: &SymbolsIndex, mut bytes: Bytes) -> Option<Self> {
        let mut modules = Vec::new();
        for module in &index.0 {
            let mut sections = Vec::new();
            for (name, size) in &module.sections {
                if *size > bytes.len() {
                    return None;
                }
                // A copy: a slice would keep the machine code beside it alive, too.
                let data = Bytes::copy_from_slice(&bytes.split_to(*size));
                sections.push((name.clone(), data));
            }
            modules.push(Module { code: module.code.clone(), sections });
        }
        let whole = bytes.is_empty();
        whole.then(|| Self { modules, known: Mutex::default(), reading: Mutex::default() })
    }

    /// Starts looking up frames, until then at most. Never waits: of many attempts that fail
    /// together, one reads the debug information, and the others make do with what is known. One
    /// that a hostile component holds up holds up nobody else.
    pub(crate) fn lookup(&self, until: Instant) -> Lookup<'_> {
        Lookup { symbols: self, until, reader: None }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<u64, Places>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A look-up under way.
pub(crate) struct Lookup<'a> {
    symbols: &'a Symbols,
    until: Instant,
    /// Made for the first frame that is not known.
    reader: Option<Reader<'a>>,
}

impl Lookup<'_> {
    /// The function of a frame and those that were inlined into it, innermost first. Empty where
    /// there is no debug information, no time, or another look-up that reads it.
    pub(crate) fn places(&mut self, frame: &Frame) -> Places {
        let Some(offset) = frame.offset else { return Places::default() };
        if self.symbols.modules.is_empty() {
            return Places::default();
        }
        if let Some(places) = self.symbols.known().get(&offset) {
            return Arc::clone(places);
        }
        if Instant::now() >= self.until {
            return Places::default();
        }
        if self.reader.is_none() {
            self.reader = Reader::of(self.symbols);
        }
        let Some(reader) = &self.reader else { return Places::default() };
        let places: Places = reader.places(offset).into();
        let mut known = self.symbols.known();
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(offset, Arc::clone(&places));
        places
    }
}

/// Debug information whose indexes are read, which takes milliseconds.
struct Reader<'a> {
    modules: Vec<(&'a Range<u64>, Context<EndianSlice<'a, LittleEndian>>)>,
    _alone: MutexGuard<'a, ()>,
}

impl<'a> Reader<'a> {
    /// Reads the indexes, unless another look-up reads.
    fn of(symbols: &'a Symbols) -> Option<Self> {
        let alone = match symbols.reading.try_lock() {
            Ok(alone) => alone,
            // A reader that panicked left nothing half done.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let modules = symbols.modules.iter().filter_map(Module::reader).collect();
        Some(Self { modules, _alone: alone })
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
            let bytes = section.map_or(&[][..], |(_, bytes)| bytes.as_ref());
            Ok::<_, gimli::Error>(EndianSlice::new(bytes, LittleEndian))
        };
        let dwarf = gimli::Dwarf::load(load).ok()?;
        Some((&self.code, Context::from_dwarf(dwarf).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// A component that has debug information, if an empty one.
    fn symbols() -> Symbols {
        Symbols { modules: vec![Module::default()], ..Symbols::default() }
    }

    #[test]
    fn a_lookup_does_not_wait_for_another() {
        // Given a look-up that is held up, in a component of which one place is known
        let symbols = symbols();
        let place = Place { function: Some("known".to_owned()), location: None };
        symbols.known().insert(1, Arc::from([place]));
        let held_up = Reader::of(&symbols).unwrap();
        // when another one begins, then it ends all the same, with what is known,
        let (done, ended) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut lookup = symbols.lookup(Instant::now() + PATIENCE);
                let places = [1, 2].map(|offset| lookup.places(&Frame::at(offset)).len());
                done.send(places).unwrap();
            });
            let places = ended.recv_timeout(PATIENCE);
            drop(held_up);
            assert_eq!(places, Ok([1, 0]));
        });
        // and what it could not find out is not taken for known.
        assert!(!symbols.known().contains_key(&2));
        symbols.lookup(Instant::now() + PATIENCE).places(&Frame::at(2));
        assert!(symbols.known().contains_key(&2));
    }

    #[test]
    fn a_lookup_ends_when_its_time_is_up() {
        let symbols = symbols();
        symbols.lookup(Instant::now()).places(&Frame::at(1));
        assert!(symbols.known().is_empty());
    }
}
