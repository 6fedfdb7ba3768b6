//! The host's side of the guest contract: one file an interface.

mod call;
mod control;
mod http;
mod jobs;
mod log;
mod secrets;

pub(crate) use call::{CallCell, HostCall};
pub(crate) use http::Http;
