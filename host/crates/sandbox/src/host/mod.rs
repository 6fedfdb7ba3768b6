//! The host's side of the guest contract: one file an interface.

mod control;
mod log;
