//! Why a component cannot become a job.

use cofferdam_core::hint::Hint;
use cofferdam_core::limits::{MAX_COMPONENT, MAX_KINDS};
use cofferdam_core::outcome::Failure;
use cofferdam_core::units::{format_duration, format_size};
use std::error::Error;
use std::time::Duration;
use thiserror::Error as ThisError;

/// An error of a library, kept as the cause.
pub(crate) type Source = Box<dyn Error + Send + Sync>;

/// A component that is refused, or that fails before it could be used.
#[derive(Debug, ThisError)]
pub enum Reject {
    /// There are no bytes.
    #[error("the file is empty")]
    Empty,
    /// The bytes are something else.
    #[error("this is {looks_like}, not a WebAssembly component")]
    NotWasm {
        /// What the bytes look like, with an article.
        looks_like: &'static str,
    },
    /// It is native code that an engine compiled: running it would run whatever it contains.
    #[error("this is a precompiled artefact, not a WebAssembly component")]
    Precompiled,
    /// It is larger than what is compiled.
    #[error("the component is {bytes} bytes, more than the {} that are accepted", format_size(*.max))]
    TooLarge {
        /// How large it is.
        bytes: u64,
        /// How large it may be.
        max: u64,
    },
    /// It has more parts, or larger ones, than what is compiled.
    #[error("the component has {what} of {count}, more than the {max} that are accepted")]
    TooComplex {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        count: u64,
        /// How much there may be.
        max: u64,
    },
    /// A core module that does not say which interfaces its functions belong to.
    #[error("this is a core module without component metadata, not a component")]
    CoreModuleWithoutMetadata,
    /// A core module whose metadata and functions do not fit together.
    #[error("the core module cannot be made a component")]
    Convert(#[source] Source),
    /// It imports what this host does not offer.
    #[error("the component imports `{import}`: {why}")]
    UnknownImport {
        /// The import.
        import: String,
        /// Why it is not offered.
        why: String,
    },
    /// It was built for another version of the guest contract.
    #[error("the component is built for cofferdam:job {built_for}, this host offers {offered}")]
    WrongSdkVersion {
        /// The version in the component.
        built_for: String,
        /// The version of this host.
        offered: String,
    },
    /// It exports neither a handler nor a command.
    #[error("the component exports neither `cofferdam:job/handler` nor `wasi:cli/run`")]
    WrongWorld {
        /// What it exports instead.
        exports: Vec<String>,
    },
    /// The bytes are cut short or otherwise broken.
    #[error("the component is malformed")]
    Invalid(#[source] Source),
    /// The compiler refuses it.
    #[error("the component does not compile")]
    Compile(#[source] Source),
    /// It begins with more than any attempt can have.
    #[error("the component needs {needed} {what}, more than the {max} that an attempt can have")]
    NeedsTooMuch {
        /// What it needs too much of.
        what: &'static str,
        /// How much it needs.
        needed: u64,
        /// How much there can be.
        max: u64,
    },
    /// The compiler gave up, twice.
    #[error(
        "the component takes more than {} of processor time or {} to compile",
        format_duration(*.cpu), format_duration(*.wall)
    )]
    TooExpensive {
        /// The time of processors that one try has.
        cpu: Duration,
        /// The time on the clock that one try has.
        wall: Duration,
    },
    /// Its imports or exports are not of the types that this host has.
    #[error("the component does not fit this host's interfaces")]
    Instantiate(#[source] Source),
    /// It failed when it was asked to describe itself.
    #[error("the component failed when it was asked for its kinds: {} ({})", .0.message, .0.class)]
    Describe(Failure),
    /// It could not be asked for its kinds, through no fault of its own: the sandbox is full, is
    /// stopping, or failed itself. The same component may be accepted later.
    #[error("the component could not be asked for its kinds: {}", .0.message)]
    Busy(Failure),
    /// It describes no kind at all.
    #[error("the component describes no kinds")]
    NoKinds,
    /// It describes more kinds than can be kept.
    #[error("the component describes {count} kinds, more than the {MAX_KINDS} that are accepted")]
    TooManyKinds {
        /// How many it describes.
        count: usize,
    },
    /// Something that it says about a kind cannot be.
    #[error("the component describes kind `{kind}`, but {problem}")]
    BadKind {
        /// The kind's name, as far as it can be shown.
        kind: String,
        /// What is wrong with it.
        problem: String,
    },
    /// It describes a kind twice.
    #[error("the component describes kind `{kind}` twice")]
    DuplicateKind {
        /// The kind's name.
        kind: String,
    },
}

impl Reject {
    /// A short word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty => "empty-component",
            Self::NotWasm { .. } => "not-wasm",
            Self::Precompiled => "precompiled",
            Self::TooLarge { .. } => "component-too-large",
            Self::TooComplex { .. } => "component-too-complex",
            Self::CoreModuleWithoutMetadata => "core-module",
            Self::Convert(_) => "core-module-unusable",
            Self::UnknownImport { .. } => "unknown-import",
            Self::WrongSdkVersion { .. } => "wrong-sdk-version",
            Self::WrongWorld { .. } => "wrong-world",
            Self::Invalid(_) => "malformed-component",
            Self::Compile(_) => "compile-failed",
            Self::NeedsTooMuch { .. } => "needs-too-much",
            Self::TooExpensive { .. } => "compile-too-expensive",
            Self::Instantiate(_) => "interface-mismatch",
            Self::Describe(_) => "describe-failed",
            Self::Busy(_) => "busy",
            Self::NoKinds => "no-kinds",
            Self::TooManyKinds { .. } => "too-many-kinds",
            Self::BadKind { .. } => "bad-kind",
            Self::DuplicateKind { .. } => "duplicate-kind",
        }
    }
}

impl Hint for Reject {
    fn hint(&self) -> Option<String> {
        const WASIP2: &str =
            "build it for wasm32-wasip2, as in `cargo build --target wasm32-wasip2`";
        let hint = match self {
            Self::Empty => "check the path, and whether the build wrote the file",
            Self::NotWasm { looks_like } if looks_like.contains("WebAssembly text") => {
                "turn it into a component first, with `wasm-tools component new` or `wat2wasm`"
            }
            Self::NotWasm { looks_like } if looks_like.contains("compressed") => "unpack it first",
            Self::NotWasm { .. } | Self::CoreModuleWithoutMetadata => WASIP2,
            Self::Precompiled => "push the component itself; it is compiled here",
            Self::TooLarge { .. } => {
                return Some(format!(
                    "components may have {}: strip debug information, optimise for size",
                    format_size(MAX_COMPONENT)
                ));
            }
            Self::TooComplex { .. } | Self::TooExpensive { .. } => {
                "split the component, or optimise it for size"
            }
            Self::NeedsTooMuch { .. } => {
                "build it with less initial memory; it may grow while it runs, up to its limit"
            }
            Self::Convert(_) => {
                "modules that use WASI need its adapter: build for wasm32-wasip2 instead"
            }
            Self::UnknownImport { .. } => {
                "`wasm-tools component wit FILE` shows what a component imports"
            }
            Self::WrongSdkVersion { .. } => {
                "build it with the SDK version of this host, or upgrade the host"
            }
            Self::WrongWorld { exports } => {
                return Some(wrong_world(exports));
            }
            Self::Describe(_) => "describe runs without input, within a second or so of CPU time",
            Self::Busy(_) => "try again in a moment",
            Self::NoKinds => "mark at least one function with #[handler]",
            Self::BadKind { .. } | Self::DuplicateKind { .. } => {
                "kinds are named after their functions: 1 to 64 lower-case letters, digits, `-`, `_` and `.`"
            }
            Self::Invalid(_) | Self::Compile(_) | Self::Instantiate(_) => {
                "build it again with current tools"
            }
            Self::TooManyKinds { .. } => "spread the kinds over several components",
        };
        Some(hint.to_owned())
    }
}

fn wrong_world(exports: &[String]) -> String {
    const SHOWN: usize = 8;
    if exports.iter().any(|export| export.starts_with("wasi:cli/run@0.3")) {
        return "it is built for WASI 0.3; build it for wasm32-wasip2".to_owned();
    }
    if exports.is_empty() {
        return "it exports nothing: a library was built without #[handler], most likely"
            .to_owned();
    }
    let shown: Vec<&str> = exports.iter().take(SHOWN).map(String::as_str).collect();
    format!("it exports {}", shown.join(", "))
}
