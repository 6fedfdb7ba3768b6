//! The host's side of the guest contract: one file an interface.

mod call;
mod control;
mod jobs;
mod log;

pub(crate) use call::{CallCell, HostCall};
