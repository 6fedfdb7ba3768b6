//! Attempts in a process of their own.
//!
//! A job whose attempt was lost once may be the reason for it: its guest may have found a bug of
//! the engine, or a way to use up the machine's memory. It runs next as the only guest of a child
//! process, which dies alone. The two processes are the same executable and talk in frames over
//! the child's standard input and output. The child has no database, no files and no network, and
//! what it says is checked as if the guest itself had written it.

mod calls;
mod chatter;
mod child;
mod claims;
mod clocks;
pub(crate) mod confine;
mod forward;
pub(crate) mod frame;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod parent;
pub(crate) mod process;
mod protocol;
mod reins;
mod requests;
mod settings;
mod supervisor;
pub(crate) mod walls;

pub use child::{ServeError, serve};
pub use parent::{Apart, ApartRunning, Room};
pub use settings::ApartSettings;
pub use walls::{Walls, walls};
