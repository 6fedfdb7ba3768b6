//! `module`.

use crate::value;
use clap::{Args, Subcommand};
use cofferdam_core::module::{ModuleRef, VersionName};
use cofferdam_core::name::ModuleName;
use std::path::PathBuf;

/// What can be done with modules.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ModuleCommand {
    /// Upload a component: it is checked, compiled, asked what it handles, and then stored
    Push(PushArgs),
    /// List modules
    #[command(after_help = "Example:\n  cofferdam module list")]
    List(PageArgs),
    /// Show a module and its versions, or one version and its kinds
    #[command(
        after_help = "Examples:\n  cofferdam module show images\n  cofferdam module show images@1.4.0"
    )]
    Show {
        /// NAME[@VERSION]
        #[arg(value_parser = value::module_version)]
        module: ModuleRef,
    },
    /// Say what a file is, what it imports and exports; needs no server and runs nothing
    #[command(after_help = "Example:\n  cofferdam module inspect images.wasm")]
    Inspect {
        /// The WebAssembly file
        file: PathBuf,
    },
    /// Make a version the one that jobs run which ask for none
    #[command(after_help = "Example:\n  cofferdam module activate images@1.3.0")]
    Activate {
        /// NAME@VERSION
        #[arg(value_parser = value::exact_version)]
        version: (ModuleName, VersionName),
    },
    /// Let a version that was put into quarantine run again
    #[command(after_help = "\
Three jobs of a version that took their processes down within an hour put it there: its jobs wait,
and `module show` says since when and why.

Example:
  cofferdam module lift images@1.3.0")]
    Lift {
        /// NAME@VERSION
        #[arg(value_parser = value::exact_version)]
        version: (ModuleName, VersionName),
    },
    /// Delete a version, or a module with all of its versions
    #[command(after_help = "\
Refused while jobs that have not ended need it.

Examples:
  cofferdam module delete images@1.3.0
  cofferdam module delete images")]
    Delete {
        /// NAME[@VERSION]
        #[arg(value_parser = value::module_version)]
        module: ModuleRef,
    },
}

/// `module push`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
The name comes from --name or from the manifest; versions are counted up where none is given.
Pushing the same bytes again changes nothing; other bytes under a version that exists are refused.

Examples:
  cofferdam module push images.wasm --name images
  cofferdam module push images.wasm --name images@1.4.0 --no-activate
  cofferdam module push target/images.wasm --manifest cofferdam.toml")]
pub(crate) struct PushArgs {
    /// The WebAssembly component, or a core module that carries component metadata
    pub(crate) file: PathBuf,
    /// The module's name, and its version
    #[arg(long, value_name = "NAME[@VERSION]", value_parser = value::module_version)]
    pub(crate) name: Option<ModuleRef>,
    /// The manifest [default: cofferdam.toml beside FILE, if there is one]
    #[arg(long, value_name = "FILE")]
    pub(crate) manifest: Option<PathBuf>,
    /// Leave the current version current
    #[arg(long)]
    pub(crate) no_activate: bool,
}

/// How much of a list.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct PageArgs {
    /// How many to show at most, newest first
    #[arg(long, short = 'n', value_name = "N", value_parser = value::number::<u32>, default_value = "50")]
    pub(crate) limit: u32,
}
