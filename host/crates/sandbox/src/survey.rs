//! One cheap pass over the bytes: what they are, what they import and export, and how much work
//! a compiler would have with them.

use crate::imports::{self, Interface};
use crate::reject::Reject;
use cofferdam_core::limits::MAX_COMPONENT;
use cofferdam_core::module::World;
use wasmparser::{Encoding, Parser, Payload};

/// Core modules in a component. A Python program with native extensions has some forty; stops
/// bombs that are mostly module headers.
const MAX_MODULES: u64 = 256;
/// Components in a component, for the same reason.
const MAX_COMPONENTS: u64 = 1_000;
/// Functions in all. `CPython` has about twenty thousand; each costs the compiler at least
/// some tens of microseconds.
const MAX_FUNCTIONS: u64 = 200_000;
/// Bytes of one function. Register allocation grows faster than the function does: stops a
/// single function from holding the compiler for minutes.
const MAX_BODY: u64 = 1 << 20;
/// Imports or exports of the component itself: each is a text that is shown and compared.
const MAX_NAMES: u64 = 1_000;

/// The custom section in which the SDK leaves its version and that of its contract.
const SDK_SECTION: &str = "cofferdam:sdk";
/// More than two version numbers need, in bytes.
const MAX_SDK_SECTION: usize = 128;

/// The custom sections that say which interfaces a core module's functions belong to.
const METADATA_SECTION: &str = "component-type";

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Whether it is a component rather than a core module.
    pub(crate) is_component: bool,
    /// Whether a core module says how to make it a component.
    pub(crate) has_metadata: bool,
    pub(crate) imports: Vec<String>,
    pub(crate) exports: Vec<String>,
    /// The SDK's version.
    pub(crate) sdk: Option<String>,
    /// The version of the contract that the SDK was built for.
    wit: Option<String>,
}

/// What there is so far of what is bounded.
#[derive(Default)]
struct Counts {
    modules: u64,
    components: u64,
    functions: u64,
    names: u64,
}

impl Survey {
    /// Looks at a component or a core module.
    pub(crate) fn of(bytes: &[u8]) -> Result<Self, Reject> {
        let size = bytes.len() as u64;
        if size > MAX_COMPONENT {
            return Err(Reject::TooLarge { bytes: size, max: MAX_COMPONENT });
        }
        let mut survey = Self::default();
        let mut counts = Counts::default();
        let mut depth = 0_u32;
        for payload in Parser::new(0).parse_all(bytes) {
            let payload = payload.map_err(|error| Reject::Invalid(error.into()))?;
            match &payload {
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                _ => {}
            }
            counts.add(&payload)?;
            survey.note(payload, depth == 0, &mut counts)?;
        }
        Ok(survey)
    }

    /// Looks at what must be a component.
    pub(crate) fn of_component(bytes: &[u8]) -> Result<Self, Reject> {
        let survey = Self::of(bytes)?;
        if survey.is_component { Ok(survey) } else { Err(Reject::CoreModuleWithoutMetadata) }
    }

    /// Which of the two shapes of job it is.
    pub(crate) fn world(&self) -> Result<World, Reject> {
        let exports = || self.exports.iter().filter_map(|export| Interface::parse(export));
        if let Some(handler) = exports().find(|interface| interface.is_handler()) {
            handler.check_version()?;
            return Ok(World::Handler);
        }
        if exports().any(Interface::is_command) {
            return Ok(World::Command);
        }
        Err(Reject::WrongWorld { exports: self.exports.clone() })
    }

    /// Refuses imports that this host does not offer.
    pub(crate) fn check_imports(&self) -> Result<(), Reject> {
        // The SDK's own word first: it is about the whole contract, not about one interface.
        if let Some(wit) = &self.wit {
            imports::check_wit_version(wit)?;
        }
        self.imports.iter().try_for_each(|import| imports::check(import))
    }

    fn note(&mut self, payload: Payload<'_>, top: bool, counts: &mut Counts) -> Result<(), Reject> {
        let invalid = |error: wasmparser::BinaryReaderError| Reject::Invalid(error.into());
        match payload {
            Payload::Version { encoding, .. } if top => {
                self.is_component = encoding == Encoding::Component;
            }
            Payload::ComponentImportSection(section) if top => {
                for import in section {
                    let import = import.map_err(invalid)?;
                    counts.name()?;
                    // A type imported by name is no capability.
                    if !matches!(import.ty, wasmparser::ComponentTypeRef::Type(_)) {
                        self.imports.push(import.name.name.to_owned());
                    }
                }
            }
            Payload::ComponentExportSection(section) if top => {
                for export in section {
                    counts.name()?;
                    self.exports.push(export.map_err(invalid)?.name.name.to_owned());
                }
            }
            Payload::CustomSection(section) if section.name() == SDK_SECTION => {
                self.read_sdk(section.data());
            }
            Payload::CustomSection(section) if section.name().starts_with(METADATA_SECTION) => {
                self.has_metadata = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn read_sdk(&mut self, data: &[u8]) {
        // Anyone can write such a section: what does not read as two short words is not ours.
        let Some(text) = data.get(..data.len().min(MAX_SDK_SECTION)) else { return };
        let Ok(text) = std::str::from_utf8(text) else { return };
        let mut words = text.split_whitespace().map(str::to_owned);
        self.sdk = words.next();
        self.wit = words.next();
    }
}

impl Counts {
    fn add(&mut self, payload: &Payload<'_>) -> Result<(), Reject> {
        let (what, count, max) = match payload {
            Payload::ModuleSection { .. } => {
                self.modules += 1;
                ("a number of core modules", self.modules, MAX_MODULES)
            }
            Payload::ComponentSection { .. } => {
                self.components += 1;
                ("a number of inner components", self.components, MAX_COMPONENTS)
            }
            Payload::CodeSectionStart { count, .. } => {
                self.functions += u64::from(*count);
                ("a number of functions", self.functions, MAX_FUNCTIONS)
            }
            Payload::CodeSectionEntry(body) => {
                ("a function with a size in bytes", body.range().len() as u64, MAX_BODY)
            }
            _ => return Ok(()),
        };
        if count > max { Err(Reject::TooComplex { what, count, max }) } else { Ok(()) }
    }

    fn name(&mut self) -> Result<(), Reject> {
        self.names += 1;
        let (what, count, max) = ("a number of imports and exports", self.names, MAX_NAMES);
        if count > max { Err(Reject::TooComplex { what, count, max }) } else { Ok(()) }
    }
}
